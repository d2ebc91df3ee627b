-- The permission mode in which a session was before it came into plan mode last: what it goes back to.

ALTER TABLE session ADD COLUMN before_plan TEXT;
