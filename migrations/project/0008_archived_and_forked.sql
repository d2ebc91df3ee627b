-- Whether lists leave the session out, and where a fork comes from: the other session's id and its last shared item, as JSON.
ALTER TABLE session ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN forked_from TEXT;
