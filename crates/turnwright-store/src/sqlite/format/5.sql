-- The terms of the API: conversations, their ids, fencing tokens.

ALTER TABLE scopes RENAME TO conversations;
ALTER TABLE conversations RENAME COLUMN scope TO conversation;
ALTER TABLE conversations RENAME COLUMN name TO conversation_id;
ALTER TABLE conversations RENAME COLUMN fence TO fencing_token;
ALTER TABLE records RENAME COLUMN scope TO conversation;
ALTER TABLE forgotten RENAME TO deleted_conversations;
ALTER TABLE deleted_conversations RENAME COLUMN fence TO fencing_token;

-- Changes since a revision. Changes before this format are unknown: `changes_from` is the oldest revision since which all
-- changes are known.
ALTER TABLE conversations ADD COLUMN changes_from INTEGER NOT NULL DEFAULT 0;
UPDATE conversations SET changes_from = revision;
ALTER TABLE records ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
CREATE INDEX records_by_revision ON records (conversation, revision);
CREATE TABLE deletions (
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (conversation, revision, kind, id)
) STRICT, WITHOUT ROWID;

-- Finding turns across all conversations: by state, by open gates, with the turn that holds the lease. Times are nanoseconds since 1970.
ALTER TABLE conversations ADD COLUMN lease_turn_id TEXT;
ALTER TABLE conversations ADD COLUMN lease_until INTEGER;
ALTER TABLE records ADD COLUMN turn_state TEXT;
ALTER TABLE records ADD COLUMN began_at INTEGER;
ALTER TABLE records ADD COLUMN open_gate_turn TEXT;
CREATE INDEX records_by_turn_state ON records (turn_state, began_at) WHERE turn_state IS NOT NULL;
CREATE INDEX records_by_open_gate ON records (conversation, open_gate_turn) WHERE open_gate_turn IS NOT NULL;

-- The batches of the last hour: applying one again changes nothing.
CREATE TABLE batches (
    batch_id BLOB PRIMARY KEY,
    revision INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
