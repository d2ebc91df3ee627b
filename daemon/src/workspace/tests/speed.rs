//! Times, measured by hand: `PLIMSOLL_MEASURE=<folder of a repository> cargo test -p plimsoll --lib workspace::tests::speed -- --nocapture`.

use super::*;
use std::time::Instant;

#[test]
fn a_refresh_of_a_given_folder_is_timed() {
    let Some(path) = std::env::var_os("PLIMSOLL_MEASURE") else { return };
    let path = PathBuf::from(path).canonicalize().unwrap();
    let mut root = Root::new(0, path);
    let mut times = Vec::new();
    for _ in 0..30 {
        let begin = Instant::now();
        let block = refresh(&mut root);
        times.push(begin.elapsed());
        assert!(!matches!(block, GitBlock::Unavailable(_)));
    }
    let first = times.remove(0);
    times.sort();
    println!("first {first:?}, then best {:?}, median {:?}, worst {:?}", times[0], times[14], times[28]);
}
