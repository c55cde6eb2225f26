-- Conversations, their records, and the bytes that the records reference.

-- One row per scope that was ever written. It is kept when the last record is deleted: revisions and positions never decrease.
CREATE TABLE scopes (
    scope INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    last_position INTEGER NOT NULL,
    -- Milliseconds since 1970.
    written_at INTEGER NOT NULL
) STRICT;

CREATE TABLE records (
    record INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    written_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    -- CRC-32 of the body: what comes back is what was written.
    checksum INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_by_position ON records (scope, position);
CREATE UNIQUE INDEX records_by_id ON records (scope, kind, id);

-- The artifacts of a record. One without a spool id is stored in the record itself.
CREATE TABLE artifacts (
    record INTEGER NOT NULL REFERENCES records ON DELETE CASCADE,
    place INTEGER NOT NULL,
    kind TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    spool_id TEXT,
    PRIMARY KEY (record, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_by_spool_id ON artifacts (spool_id) WHERE spool_id IS NOT NULL;

-- The media of a record. A spool may store their bytes under their ids.
CREATE TABLE media (
    record INTEGER NOT NULL REFERENCES records ON DELETE CASCADE,
    place INTEGER NOT NULL,
    media_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    bytes INTEGER,
    PRIMARY KEY (record, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX media_by_id ON media (media_id);
