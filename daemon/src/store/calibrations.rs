//! How models' own token counts compare with the estimate, in `user.db`: learned in all projects, used in all of them.

use super::StoreError;
use super::index::{UserSql, UserWrite};
use super::stores::Stores;
use plimsoll_core::model::calibration::Calibration;
use rusqlite::{OptionalExtension as _, params};

impl UserSql<'_> {
    /// Of two sessions that learned at once the one that knows more reports counts.
    pub(super) fn calibration_write(&self, model: &str, calibration: Calibration) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO calibration (model, factor, reports) VALUES (?1, ?2, ?3) \
             ON CONFLICT (model) DO UPDATE SET factor = ?2, reports = ?3 WHERE reports <= ?3",
            params![model, calibration.factor, calibration.reports],
        )
    }

    fn calibration(&self, model: &str) -> Result<Calibration, StoreError> {
        let sql = "SELECT factor, reports FROM calibration WHERE model = ?1";
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let row = statement.query_row([model], |row| Ok(Calibration { factor: row.get(0)?, reports: row.get(1)? }));
            row.optional()
        });
        Ok(found.map_err(|source| StoreError::sqlite(self.path, source))?.unwrap_or_default())
    }
}

impl Stores {
    /// What was learned about a model, by its id `provider/model`.
    pub async fn calibration(&self, model: &str) -> Result<Calibration, StoreError> {
        let model = model.to_owned();
        self.read(move |sql| sql.calibration(&model)).await
    }

    /// Keeps what was learned about a model.
    pub async fn keep_calibration(&self, model: String, calibration: Calibration) -> Result<(), StoreError> {
        self.write(UserWrite::Calibration(model, calibration)).await
    }
}
