-- One user: the projects, and an index of all sessions that is derived from the projects' own databases.

CREATE TABLE project (
    key        TEXT    PRIMARY KEY,
    root       TEXT    NOT NULL UNIQUE,
    roots      TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- rank: grows with every change of a session, so that "newest first" does not depend on clocks.
CREATE TABLE session_index (
    id         TEXT    PRIMARY KEY,
    project    TEXT    NOT NULL REFERENCES project (key),
    sid        INTEGER NOT NULL,
    rank       INTEGER NOT NULL UNIQUE,
    title      TEXT    NOT NULL,
    mode       TEXT    NOT NULL,
    model      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    items      INTEGER NOT NULL,
    last_seq   INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    asks       TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_project ON session_index (project, rank);
CREATE INDEX session_busy ON session_index (state) WHERE state IN ('running', 'waiting');
