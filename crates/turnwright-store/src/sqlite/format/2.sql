-- What retention asks for: which conversations have a call that was begun and never ended, and which bytes nobody names.

ALTER TABLE records ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
UPDATE records SET begun = 1 WHERE kind = 'ledger' AND json_extract(body, '$.state') = 'begun';
CREATE INDEX records_begun ON records (scope) WHERE begun = 1;

-- Bytes that a spool keeps and no record names. Deleted once they were unnamed for long enough; at once where `since` is 0.
CREATE TABLE orphans (
    spool_id TEXT PRIMARY KEY,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
