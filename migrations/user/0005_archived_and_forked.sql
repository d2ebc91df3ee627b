-- As in the projects' own databases.
ALTER TABLE session_index ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session_index ADD COLUMN forked_from TEXT;
