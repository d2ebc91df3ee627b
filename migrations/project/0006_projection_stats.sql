-- whole: what the whole result would have cost in the view, in estimated tokens; 0 in rows from before it was counted.
-- saved: bytes of the file `artifacts/<call>.txt` that the projection names; 0 when it names none.
ALTER TABLE projection ADD COLUMN whole INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projection ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;
CREATE INDEX projection_saved ON projection (sid, call) WHERE saved > 0;
