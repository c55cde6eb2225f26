//! A store like one for a database: rows of text, with the public API only.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use turnwright_core::record::{ByteResolver, Record, RecordKind};
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::{
    Batch, BatchId, Change, Changes, ConversationFilter, ConversationId, FoundConversation, Loaded,
    Position, Query, Revision, Store, StoreError,
};

#[derive(Clone)]
pub(super) struct JsonStore {
    tables: Arc<Mutex<Tables>>,
    reopen: ByteResolver,
}

/// Rows for each record, conversation, deletion and batch.
#[derive(Clone, Default)]
struct Tables {
    records: BTreeMap<u64, Row>,
    conversations: BTreeMap<String, Head>,
    /// Conversation, revision, kind and id. It keeps all of them.
    deletions: Vec<(String, u64, RecordKind, String)>,
    batches: BTreeMap<BatchId, (u64, String)>,
    last: u64,
}

#[derive(Clone)]
struct Row {
    conversation: String,
    kind: String,
    id: String,
    revision: u64,
    json: String,
}

#[derive(Clone, Default)]
struct Head {
    revision: u64,
    fencing_token: u64,
    changes_from: u64,
}

impl Default for JsonStore {
    fn default() -> Self {
        JsonStore {
            tables: Arc::default(),
            reopen: ByteResolver::new(Arc::new(MemorySpool::default())),
        }
    }
}

impl Tables {
    fn head(&self, conversation_id: &ConversationId) -> Head {
        let head = self.conversations.get(conversation_id.as_str());
        head.cloned().unwrap_or_default()
    }

    fn position(
        &self,
        conversation_id: &ConversationId,
        kind: RecordKind,
        id: &str,
    ) -> Option<u64> {
        let found = self.records.iter().find(|(_, row)| {
            row.conversation == conversation_id.as_str()
                && row.kind == kind.as_str()
                && row.id == id
        });
        found.map(|(position, _)| *position)
    }

    fn change(
        &mut self,
        conversation_id: &ConversationId,
        revision: u64,
        change: Change,
    ) -> Result<(), StoreError> {
        match change {
            Change::Put(record) => {
                let position = self.position(conversation_id, record.kind(), record.id());
                let position = position.unwrap_or_else(|| {
                    self.last += 1;
                    self.last
                });
                let row = Row {
                    conversation: conversation_id.as_str().to_owned(),
                    kind: record.kind().as_str().to_owned(),
                    id: record.id().to_owned(),
                    revision,
                    json: record.to_value().map_err(StoreError::failed)?.to_string(),
                };
                self.records.insert(position, row);
            }
            Change::Delete(kind, id) => {
                let position = self.position(conversation_id, kind, &id);
                if position.and_then(|at| self.records.remove(&at)).is_some() {
                    let conversation = conversation_id.as_str().to_owned();
                    self.deletions.push((conversation, revision, kind, id));
                }
            }
            _ => return Err(StoreError::failed("a change of a later release")),
        }
        Ok(())
    }
}

impl JsonStore {
    fn read<'t>(
        &self,
        head: &Head,
        rows: impl IntoIterator<Item = (&'t u64, &'t Row)>,
    ) -> Result<Loaded, StoreError> {
        let mut loaded = Loaded::new(Vec::new(), Revision(head.revision), head.fencing_token);
        for (position, row) in rows {
            let kind = RecordKind::from_name(&row.kind);
            let kind = kind.ok_or_else(|| StoreError::failed("an unknown kind"))?;
            let record = Record::from_json(kind, &row.json, &self.reopen);
            loaded.add(Position(*position), kind, &row.id, record);
        }
        Ok(loaded)
    }

    /// Makes a row unreadable.
    pub(super) fn damage(&self, conversation_id: &ConversationId, kind: RecordKind, id: &str) {
        let mut tables = self.tables.lock();
        let position = tables.position(conversation_id, kind, id);
        if let Some(row) = position.and_then(|at| tables.records.get_mut(&at)) {
            row.json = "{".to_owned();
        }
    }
}

/// Returns everything in a batch except its id.
fn content(conversation_id: &ConversationId, batch: &Batch) -> Result<String, StoreError> {
    let mut content = format!(
        "{conversation_id:?} {:?} {:?}",
        batch.fencing_token, batch.expect
    );
    for change in &batch.changes {
        content += &match change {
            Change::Put(record) => record.to_json().map_err(StoreError::failed)?,
            other => format!("{other:?}"),
        };
    }
    Ok(content)
}

#[async_trait]
impl Store for JsonStore {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let mut tables = self.tables.lock();
        let content = content(conversation_id, &batch)?;
        match tables.batches.get(&batch.id) {
            Some((revision, earlier)) if *earlier == content => return Ok(Revision(*revision)),
            Some(_) => return Err(StoreError::batch_id_reused(batch.id)),
            None => {}
        }
        // A transaction: written to a copy, which replaces the tables at the end.
        let mut changed = tables.clone();
        let id = conversation_id.as_str().to_owned();
        let head = changed.conversations.entry(id.clone()).or_default();
        if batch
            .fencing_token
            .is_some_and(|own| own < head.fencing_token)
        {
            return Err(StoreError::fenced(head.fencing_token));
        }
        if batch
            .expect
            .is_some_and(|expected| expected.0 != head.revision)
        {
            return Err(StoreError::conflict(Revision(head.revision)));
        }
        head.revision += 1;
        head.fencing_token = batch.fencing_token.unwrap_or(head.fencing_token);
        let revision = head.revision;
        for change in batch.changes {
            changed.change(conversation_id, revision, change)?;
        }
        if !changed.records.values().any(|row| row.conversation == id) {
            changed.conversations.entry(id).or_default().changes_from = revision;
        }
        changed.batches.insert(batch.id, (revision, content));
        *tables = changed;
        Ok(Revision(revision))
    }

    async fn load(
        &self,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        let tables = self.tables.lock();
        let after = query.after.map_or(0, |after| after.0);
        let kinds: Vec<_> = query.kinds.iter().map(|kind| kind.as_str()).collect();
        let found = tables.records.range(after.saturating_add(1)..);
        let found = found.filter(|(position, row)| {
            query.before.is_none_or(|before| **position < before.0)
                && row.conversation == conversation_id.as_str()
                && (kinds.is_empty() || kinds.contains(&row.kind.as_str()))
                && query.ids.as_ref().is_none_or(|ids| ids.contains(&row.id))
        });
        let most = query.limit.unwrap_or(usize::MAX);
        let mut found: Vec<_> = if query.newest {
            found.rev().take(most).collect()
        } else {
            found.take(most).collect()
        };
        if query.newest {
            found.reverse();
        }
        self.read(&tables.head(conversation_id), found)
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        let ids: Vec<String> = {
            let tables = self.tables.lock();
            let rows = || tables.records.values();
            let filled = |id: &&String| rows().any(|row| row.conversation == **id);
            tables
                .conversations
                .keys()
                .filter(filled)
                .cloned()
                .collect()
        };
        let mut found = Vec::new();
        for id in ids.into_iter().map(ConversationId::new) {
            let loaded = self.load(&id, &FoundConversation::query()).await?;
            found.push(FoundConversation::new(id, loaded));
        }
        Ok(filter.select(found))
    }

    async fn changed(
        &self,
        conversation_id: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        let tables = self.tables.lock();
        let head = tables.head(conversation_id);
        if since.0 < head.changes_from || since.0 > head.revision {
            return Ok(Changes::Unknown);
        }
        let put = tables.records.iter().filter(|(_, row)| {
            row.conversation == conversation_id.as_str() && row.revision > since.0
        });
        let put = self.read(&head, put)?;
        let deleted = tables.deletions.iter().filter(|(of, revision, kind, id)| {
            of == conversation_id.as_str()
                && *revision > since.0
                && tables.position(conversation_id, *kind, id).is_none()
        });
        let mut deleted: Vec<_> = deleted.map(|(.., kind, id)| (*kind, id.clone())).collect();
        deleted.sort_unstable();
        deleted.dedup();
        Ok(Changes::Since { put, deleted })
    }

    fn is_persistent(&self) -> bool {
        false
    }

    fn spool(&self) -> Option<Arc<dyn turnwright_core::spool::Spool>> {
        Some(Arc::clone(self.reopen.spool()))
    }
}
