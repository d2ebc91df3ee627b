//! What was learned about a model survives a restart, and the longer experience counts.

use super::*;
use plimsoll_core::model::calibration::Calibration;

#[tokio::test]
async fn what_was_learned_about_a_model_is_kept() {
    let mut place = Place::new().await;
    let learned = |factor, reports| Calibration { factor, reports };
    assert_eq!(place.stores.calibration("a/b").await.unwrap(), Calibration::default());
    place.stores.keep_calibration("a/b".to_owned(), learned(1.25, 7)).await.unwrap();
    place.stores.keep_calibration("a/b".to_owned(), learned(0.5, 3)).await.unwrap();
    place.restart().await;
    assert_eq!(place.stores.calibration("a/b").await.unwrap(), learned(1.25, 7));
    assert_eq!(place.stores.calibration("a/c").await.unwrap(), Calibration::default());
}
