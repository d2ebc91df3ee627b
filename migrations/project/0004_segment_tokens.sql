-- What each sent text counts, in estimated tokens, and how many images it holds. Of rows from before: not known, counted
-- when they are read.
ALTER TABLE epoch_blob ADD COLUMN tokens INTEGER;
ALTER TABLE request_blob ADD COLUMN tokens INTEGER;
ALTER TABLE request_blob ADD COLUMN images INTEGER NOT NULL DEFAULT 0;
