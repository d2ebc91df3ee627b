-- The task of a session as it stands, written whole at each change. A session without a row has none.
CREATE TABLE task (
    sid     INTEGER PRIMARY KEY REFERENCES session (sid),
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL
) STRICT;
