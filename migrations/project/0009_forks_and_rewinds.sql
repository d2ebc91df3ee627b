-- Where the texts lie that a fork's shared results name: in the folder of the session that it was forked from, and of those
-- that one was forked from. The files of calls up to last_call stay there as long as a row says so, also when that session is
-- deleted.
CREATE TABLE shared_folder (
    sid       INTEGER NOT NULL REFERENCES session (sid),
    folder    TEXT    NOT NULL,
    last_call INTEGER NOT NULL,
    PRIMARY KEY (sid, folder)
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_folder_of ON shared_folder (folder);

-- Few sessions go back, and each time one is taken up it is asked where it did.
CREATE INDEX item_rewind ON item (sid, no) WHERE kind = 'rewind';
