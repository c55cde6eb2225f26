-- For retention: conversations with a call that was begun and has not ended, and unreferenced bytes.

ALTER TABLE records ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
UPDATE records SET begun = 1 WHERE kind = 'ledger' AND json_extract(body, '$.state') = 'begun';
CREATE INDEX records_begun ON records (scope) WHERE begun = 1;

-- Spooled bytes without a reference. Deleted after a grace period; immediately if `since` is 0.
CREATE TABLE orphans (
    spool_id TEXT PRIMARY KEY,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
