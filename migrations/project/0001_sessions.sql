-- One project: its sessions, what was said in them, what was sent, what was done.
-- Tables whose rows never change refuse update and delete; the deletion of a whole session enters its number into
-- `deletion` for the length of its own transaction.

CREATE TABLE project (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    key        TEXT    NOT NULL,
    roots      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE session (
    sid          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    key          TEXT    UNIQUE,
    title        TEXT    NOT NULL,
    mode         TEXT    NOT NULL,
    model        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    last_item    INTEGER NOT NULL DEFAULT 0,
    last_seq     INTEGER NOT NULL DEFAULT 0,
    last_turn    INTEGER NOT NULL DEFAULT 0,
    last_call    INTEGER NOT NULL DEFAULT 0,
    last_request INTEGER NOT NULL DEFAULT 0,
    last_epoch   INTEGER NOT NULL DEFAULT 0,
    last_ask     INTEGER NOT NULL DEFAULT 0,
    todos_item   INTEGER NOT NULL DEFAULT 0,
    bytes        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX session_busy ON session (state) WHERE state IN ('running', 'waiting');

CREATE TABLE deletion (sid INTEGER PRIMARY KEY) STRICT;

-- Folders of deleted sessions that are still to be removed from disk.
CREATE TABLE doomed_folder (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- codec: 0 plain, 1 zstd. file: where the whole of a result over 1 MiB lies; `body` then says so in its place.
CREATE TABLE item (
    rid     INTEGER PRIMARY KEY,
    sid     INTEGER NOT NULL REFERENCES session (sid),
    no      INTEGER NOT NULL,
    turn    INTEGER NOT NULL,
    step    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    call    INTEGER,
    codec   INTEGER NOT NULL,
    len     INTEGER NOT NULL,
    body    BLOB    NOT NULL,
    file    TEXT,
    UNIQUE (sid, no)
) STRICT;
CREATE INDEX item_result ON item (sid, call) WHERE kind = 'tool_result';

CREATE TABLE projection (
    rid      INTEGER PRIMARY KEY,
    sid      INTEGER NOT NULL REFERENCES session (sid),
    call     INTEGER NOT NULL,
    is_error INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    partial  INTEGER NOT NULL,
    codec    INTEGER NOT NULL,
    len      INTEGER NOT NULL,
    body     BLOB    NOT NULL,
    UNIQUE (sid, call)
) STRICT;

CREATE TABLE event (
    sid     INTEGER NOT NULL REFERENCES session (sid),
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (sid, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE operation (
    sid     INTEGER NOT NULL REFERENCES session (sid),
    call    INTEGER NOT NULL,
    settled INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (sid, call)
) STRICT;
CREATE INDEX operation_open ON operation (sid, call) WHERE settled = 0;

CREATE TABLE ask (
    sid     INTEGER NOT NULL REFERENCES session (sid),
    no      INTEGER NOT NULL,
    open    INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (sid, no)
) STRICT;
CREATE INDEX ask_open ON ask (sid, no) WHERE open = 1;

CREATE TABLE prompt_key (
    sid  INTEGER NOT NULL REFERENCES session (sid),
    key  TEXT    NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (sid, key)
) STRICT, WITHOUT ROWID;

-- Texts by their BLAKE3 hash, shared by all sessions: wire segments and stated blocks.
CREATE TABLE blob (
    bid   INTEGER PRIMARY KEY,
    hash  BLOB    NOT NULL UNIQUE,
    codec INTEGER NOT NULL,
    len   INTEGER NOT NULL,
    body  BLOB    NOT NULL
) STRICT;

-- after_request: the session's last request before the epoch, so that its own are those that follow.
CREATE TABLE epoch (
    sid           INTEGER NOT NULL REFERENCES session (sid),
    no            INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    first_item    INTEGER NOT NULL,
    after_request INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    body          TEXT    NOT NULL,
    PRIMARY KEY (sid, no)
) STRICT, WITHOUT ROWID;

-- layer: 1 tools, 2 system, 3 preamble. What the head states is in `epoch.body`: `stated`, an object of blob numbers.
CREATE TABLE epoch_blob (
    sid   INTEGER NOT NULL REFERENCES session (sid),
    epoch INTEGER NOT NULL,
    layer INTEGER NOT NULL,
    pos   INTEGER NOT NULL,
    bid   INTEGER NOT NULL REFERENCES blob (bid),
    PRIMARY KEY (sid, epoch, layer, pos)
) STRICT, WITHOUT ROWID;

CREATE TABLE request (
    sid       INTEGER NOT NULL REFERENCES session (sid),
    no        INTEGER NOT NULL,
    epoch     INTEGER NOT NULL,
    turn      INTEGER NOT NULL,
    step      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    last_item INTEGER NOT NULL,
    hash      BLOB    NOT NULL,
    bytes     INTEGER NOT NULL,
    version   INTEGER NOT NULL,
    body      TEXT    NOT NULL,
    PRIMARY KEY (sid, no)
) STRICT, WITHOUT ROWID;

-- The messages that the request before it in its epoch did not have. `request.body` has `stated`, as in `epoch`.
CREATE TABLE request_blob (
    sid     INTEGER NOT NULL REFERENCES session (sid),
    request INTEGER NOT NULL,
    pos     INTEGER NOT NULL,
    bid     INTEGER NOT NULL REFERENCES blob (bid),
    PRIMARY KEY (sid, request, pos)
) STRICT, WITHOUT ROWID;

CREATE TABLE request_end (
    sid     INTEGER NOT NULL REFERENCES session (sid),
    no      INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (sid, no)
) STRICT, WITHOUT ROWID;

-- How far the mirror of a session was known to be right when this was written.
CREATE TABLE mirror (
    sid     INTEGER PRIMARY KEY REFERENCES session (sid),
    version INTEGER NOT NULL,
    item    INTEGER NOT NULL,
    len     INTEGER NOT NULL,
    hash    BLOB    NOT NULL
) STRICT;

CREATE TRIGGER item_is_kept BEFORE UPDATE ON item BEGIN SELECT RAISE(ABORT, 'items never change'); END;
CREATE TRIGGER item_stays BEFORE DELETE ON item WHEN NOT EXISTS (SELECT 1 FROM deletion WHERE sid = OLD.sid)
BEGIN SELECT RAISE(ABORT, 'items are deleted with their session only'); END;
CREATE TRIGGER projection_is_kept BEFORE UPDATE ON projection BEGIN SELECT RAISE(ABORT, 'projections never change'); END;
CREATE TRIGGER projection_stays BEFORE DELETE ON projection WHEN NOT EXISTS (SELECT 1 FROM deletion WHERE sid = OLD.sid)
BEGIN SELECT RAISE(ABORT, 'projections are deleted with their session only'); END;
CREATE TRIGGER event_is_kept BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events never change'); END;
CREATE TRIGGER event_stays BEFORE DELETE ON event WHEN NOT EXISTS (SELECT 1 FROM deletion WHERE sid = OLD.sid)
BEGIN SELECT RAISE(ABORT, 'events are deleted with their session only'); END;
CREATE TRIGGER epoch_is_kept BEFORE UPDATE ON epoch BEGIN SELECT RAISE(ABORT, 'epochs never change'); END;
CREATE TRIGGER epoch_stays BEFORE DELETE ON epoch WHEN NOT EXISTS (SELECT 1 FROM deletion WHERE sid = OLD.sid)
BEGIN SELECT RAISE(ABORT, 'epochs are deleted with their session only'); END;
CREATE TRIGGER request_is_kept BEFORE UPDATE ON request BEGIN SELECT RAISE(ABORT, 'requests never change'); END;
CREATE TRIGGER request_stays BEFORE DELETE ON request WHEN NOT EXISTS (SELECT 1 FROM deletion WHERE sid = OLD.sid)
BEGIN SELECT RAISE(ABORT, 'requests are deleted with their session only'); END;
CREATE TRIGGER request_end_is_kept BEFORE UPDATE ON request_end BEGIN SELECT RAISE(ABORT, 'ends never change'); END;
CREATE TRIGGER request_end_stays BEFORE DELETE ON request_end WHEN NOT EXISTS (SELECT 1 FROM deletion WHERE sid = OLD.sid)
BEGIN SELECT RAISE(ABORT, 'ends are deleted with their session only'); END;
CREATE TRIGGER blob_is_kept BEFORE UPDATE ON blob BEGIN SELECT RAISE(ABORT, 'texts never change'); END;
CREATE TRIGGER blob_stays BEFORE DELETE ON blob WHEN NOT EXISTS (SELECT 1 FROM deletion)
BEGIN SELECT RAISE(ABORT, 'texts are deleted with the last session that uses them'); END;
