-- What a user decided for a project beside its sessions: whether its own programs may run, and what is allowed for good.

ALTER TABLE project ADD COLUMN trusted INTEGER NOT NULL DEFAULT 0 CHECK (trusted IN (0, 1));

-- rule: the text form. session, call: the question whose answer made it. A number is never given to another rule, so that
-- whoever looks at an old list revokes nothing else.
CREATE TABLE lasting_grant (
    no      INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT    NOT NULL REFERENCES project (key),
    rule    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    session TEXT    NOT NULL,
    call    INTEGER NOT NULL,
    UNIQUE (project, rule)
) STRICT;
