-- How each model's own token counts compare with the estimate: what an estimate is multiplied by, and of how many reports
-- that was learned. model: `provider/model`, as the configuration writes it.
CREATE TABLE calibration (
    model   TEXT    PRIMARY KEY,
    factor  REAL    NOT NULL,
    reports INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
