-- Conversations by owner and by label, from their infos, in the order of their ids.
ALTER TABLE conversations ADD COLUMN owner TEXT;
CREATE INDEX conversations_by_owner ON conversations (owner, conversation_id) WHERE owner IS NOT NULL;
CREATE TABLE labels (
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    PRIMARY KEY (key, value, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_conversation ON labels (conversation);
