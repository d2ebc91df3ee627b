-- What each sent text counts, in estimated tokens, and how many images it holds. Of rows from before: not known, counted
-- when they are read.
ALTER TABLE epoch_blob ADD COLUMN tokens INTEGER;
ALTER TABLE request_blob ADD COLUMN tokens INTEGER;
ALTER TABLE request_blob ADD COLUMN images INTEGER NOT NULL DEFAULT 0;

-- What the files that a user attached show of files, as a JSON list, as `projection.shown` for results; the item has it
-- too. after_projection: the newest projection before it, so that both can be read in their order.
CREATE TABLE attached (
    sid              INTEGER NOT NULL REFERENCES session (sid),
    item             INTEGER NOT NULL,
    after_projection INTEGER NOT NULL,
    shown            TEXT    NOT NULL,
    PRIMARY KEY (sid, item)
) STRICT, WITHOUT ROWID;
