-- The texts that a session works with, chosen when it was made: its bundle, and the identity sentence when it has its own.
-- Sessions that were made before have the first bundle and the built-in sentence.
ALTER TABLE session ADD COLUMN bundle TEXT NOT NULL DEFAULT 'lean';
ALTER TABLE session ADD COLUMN base_prompt TEXT;
