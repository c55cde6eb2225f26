-- Conversations, their records, and the bytes that the records reference.

-- One row per conversation that has records.
CREATE TABLE conversations (
    conversation INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    fencing_token INTEGER NOT NULL,
    last_position INTEGER NOT NULL,
    -- Milliseconds since 1970.
    written_at INTEGER NOT NULL,
    -- The oldest revision since which all changes are known.
    changes_from INTEGER NOT NULL DEFAULT 0,
    last_batch_id BLOB,
    -- The turn that holds the lease, and until when in nanoseconds since 1970.
    lease_turn_id TEXT,
    lease_until INTEGER,
    -- From the conversation's info.
    owner TEXT
) STRICT;
CREATE INDEX conversations_by_owner ON conversations (owner, conversation_id) WHERE owner IS NOT NULL;

-- The labels of conversations, from their infos, in the order of the conversations' ids.
CREATE TABLE labels (
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    PRIMARY KEY (key, value, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_conversation ON labels (conversation);

-- Kept after the last record of a conversation, because revisions, fencing tokens and positions never decrease: the
-- counters, under a digest of the id and the salt. The id cannot be derived from it.
CREATE TABLE deleted_conversations (
    digest BLOB PRIMARY KEY,
    revision INTEGER NOT NULL,
    fencing_token INTEGER NOT NULL,
    last_position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE salt (salt BLOB NOT NULL) STRICT;
INSERT INTO salt VALUES (randomblob(32));

CREATE TABLE records (
    record INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    written_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    -- CRC-32 of the body: what comes back is what was written.
    checksum INTEGER NOT NULL,
    body TEXT NOT NULL,
    -- The revision that wrote it last.
    revision INTEGER NOT NULL DEFAULT 0,
    -- 1 for a call that was begun and has not ended: retention keeps its conversation.
    begun INTEGER NOT NULL DEFAULT 0,
    -- Of a turn, to find it across all conversations. Times are nanoseconds since 1970.
    turn_state TEXT,
    began_at INTEGER,
    -- The turn of a gate that is open.
    open_gate_turn TEXT
) STRICT;
CREATE UNIQUE INDEX records_by_position ON records (conversation, position);
CREATE UNIQUE INDEX records_by_id ON records (kind, id, conversation);
CREATE UNIQUE INDEX records_by_kind ON records (conversation, kind, position);
CREATE INDEX records_begun ON records (conversation) WHERE begun = 1;
CREATE INDEX records_by_turn_state ON records (turn_state, began_at) WHERE turn_state IS NOT NULL;
CREATE INDEX records_by_open_gate ON records (conversation, open_gate_turn) WHERE open_gate_turn IS NOT NULL;

-- Deleted records, for changes since a revision.
CREATE TABLE deletions (
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (conversation, revision, kind, id)
) STRICT, WITHOUT ROWID;

-- The batches of the last hour: applying one again changes nothing. Changes since a revision are read from them, newest
-- first along `previous`: an index of all records by revision would make every write more expensive.
CREATE TABLE batches (
    batch_id BLOB PRIMARY KEY,
    revision INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    applied_at INTEGER NOT NULL,
    conversation INTEGER,
    previous BLOB,
    -- A JSON array of the rows that the batch put.
    records TEXT
) STRICT, WITHOUT ROWID;

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

-- Spooled bytes without a reference. Deleted after a grace period; immediately if `since` is 0.
CREATE TABLE orphans (
    spool_id TEXT PRIMARY KEY,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
