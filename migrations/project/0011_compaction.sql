-- Images in the messages that a compaction left; layer 4 of an epoch are these, 1 to 3 its head.
ALTER TABLE epoch_blob ADD COLUMN images INTEGER NOT NULL DEFAULT 0;

-- Requests beside the conversation, such as for a summary. base: the request whose bytes it begins with.
CREATE TABLE side_request (
    sid       INTEGER NOT NULL REFERENCES session (sid),
    no        INTEGER NOT NULL,
    purpose   TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    epoch     INTEGER NOT NULL,
    last_item INTEGER NOT NULL,
    base      INTEGER,
    hash      BLOB    NOT NULL,
    bytes     INTEGER NOT NULL,
    version   INTEGER NOT NULL,
    body      TEXT    NOT NULL,
    PRIMARY KEY (sid, no)
) STRICT, WITHOUT ROWID;

-- All that it was made of. layer: 1 tools, 2 system, 3 messages.
CREATE TABLE side_blob (
    sid    INTEGER NOT NULL REFERENCES session (sid),
    no     INTEGER NOT NULL,
    layer  INTEGER NOT NULL,
    pos    INTEGER NOT NULL,
    bid    INTEGER NOT NULL REFERENCES blob (bid),
    tokens INTEGER NOT NULL,
    images INTEGER NOT NULL,
    PRIMARY KEY (sid, no, layer, pos)
) STRICT, WITHOUT ROWID;

-- What came back.
CREATE TABLE side_end (
    sid     INTEGER NOT NULL REFERENCES session (sid),
    no      INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (sid, no)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER side_request_is_kept BEFORE UPDATE ON side_request BEGIN SELECT RAISE(ABORT, 'requests never change'); END;
CREATE TRIGGER side_request_stays BEFORE DELETE ON side_request
WHEN NOT EXISTS (SELECT 1 FROM deletion WHERE sid = OLD.sid)
BEGIN SELECT RAISE(ABORT, 'requests are deleted with their session only'); END;
CREATE TRIGGER side_end_is_kept BEFORE UPDATE ON side_end BEGIN SELECT RAISE(ABORT, 'ends never change'); END;
CREATE TRIGGER side_end_stays BEFORE DELETE ON side_end WHEN NOT EXISTS (SELECT 1 FROM deletion WHERE sid = OLD.sid)
BEGIN SELECT RAISE(ABORT, 'ends are deleted with their session only'); END;
