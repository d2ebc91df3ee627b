-- Short texts that outlive their session. session, call, item: the call that wrote what stands here now. A number is never
-- given to another memory, so that whoever names an old one changes nothing else.
CREATE TABLE memory (
    no         INTEGER PRIMARY KEY AUTOINCREMENT,
    title      TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    session    TEXT    NOT NULL,
    call       INTEGER NOT NULL,
    item       INTEGER NOT NULL
) STRICT;
