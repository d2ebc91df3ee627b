-- What a result showed of files, as a JSON list; read as a whole when a session is taken up, without the texts.
ALTER TABLE projection ADD COLUMN shown TEXT NOT NULL DEFAULT '[]';
CREATE INDEX projection_shown ON projection (sid, shown) WHERE shown <> '[]';
