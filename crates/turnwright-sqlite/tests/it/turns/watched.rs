//! The store and the spool of a process, with a journal of what they were asked and what they acknowledged.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::io;
use std::sync::Arc;
use turnwright_core::store::{
    Changes, ConversationFilter, FoundConversation, FoundTurn, Loaded, Query, TurnFilter,
};
use turnwright_sqlite::SqliteStore;

use async_trait::async_trait;
use turnwright_core::record::{Author, CallState, GateState, TurnState};
use turnwright_core::record::{Record, RecordKind};
use turnwright_core::spool::Body;
use turnwright_core::spool::{ByteReader, DiskSpool, Spool};
use turnwright_core::store::{Batch, Change, ConversationId, Revision, Store, StoreError};

use super::stages::Stage;
use super::world::World;

pub(crate) struct Watched {
    pub(crate) world: Arc<World>,
    pub(crate) store: SqliteStore,
}

/// Returns a digest that is equal for equal records.
pub(crate) fn digest(record: &Record) -> String {
    let mut hasher = DefaultHasher::new();
    record.to_value().unwrap().to_string().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Returns the state in a record.
fn state(record: &Record) -> &'static str {
    match record {
        Record::Ledger(line) => line.state.as_str(),
        Record::Turn(turn) => turn.state.as_str(),
        Record::ToolCall(call) if call.is_complete() => "closed",
        Record::Gate(gate) if gate.state != GateState::Open => "closed",
        Record::Lease(lease) if lease.turn_id.is_none() => "closed",
        _ => "open",
    }
}

/// Returns the stages of a batch.
fn stages(batch: &Batch) -> Vec<(Stage, Stage)> {
    let puts = || {
        batch.changes.iter().filter_map(|change| match change {
            Change::Put(record) => Some(record),
            _ => None,
        })
    };
    let has = |is: &dyn Fn(&Record) -> bool| puts().any(is);
    let first = has(&|item| matches!(item, Record::Turn(turn) if turn.runs == 1));
    let running =
        has(&|item| matches!(item, Record::Turn(turn) if turn.state == TurnState::Running));
    let leases = has(&|item| matches!(item, Record::Lease(lease) if lease.turn_id.is_some()));
    let begun =
        has(&|item| matches!(item, Record::Ledger(line) if line.state == CallState::Started));
    let is = |yes: bool, before: Stage, after: Stage| yes.then_some((before, after));
    let all = [
        is(
            running && leases && batch.expect.is_some() && first,
            Stage::BeforeBegin,
            Stage::AfterBegin,
        ),
        is(
            running && leases && batch.expect.is_some() && !first,
            Stage::BeforeTaken,
            Stage::AfterTaken,
        ),
        is(
            leases && batch.changes.len() == 1,
            Stage::BeforeRenewed,
            Stage::AfterRenewed,
        ),
        is(
            !begun && has(&|item| matches!(item, Record::ToolCall(call) if !call.is_complete())),
            Stage::BeforeOpen,
            Stage::AfterOpen,
        ),
        is(begun, Stage::BeforeBegun, Stage::AfterBegun),
        is(
            has(&|item| matches!(item, Record::ToolCall(call) if call.is_complete())),
            Stage::BeforeSettled,
            Stage::AfterSettled,
        ),
        is(
            has(&|item| matches!(item, Record::Gate(gate) if gate.state == GateState::Open)),
            Stage::BeforeWaiting,
            Stage::AfterWaiting,
        ),
        is(
            has(&|item| matches!(item, Record::Gate(gate) if gate.state != GateState::Open)),
            Stage::BeforeAnswered,
            Stage::AfterAnswered,
        ),
        is(
            has(
                &|item| matches!(item, Record::Message(output) if *output.author() == Author::Assistant),
            ),
            Stage::BeforeWords,
            Stage::AfterWords,
        ),
        is(
            has(&|item| matches!(item, Record::Turn(turn) if turn.state != TurnState::Running)),
            Stage::BeforeEnd,
            Stage::AfterEnd,
        ),
    ];
    all.into_iter().flatten().collect()
}

impl Watched {
    /// Returns one line per change: conversation, kind, id, state, digest, and the revision if there is one.
    fn lines(
        &self,
        what: &str,
        conversation_id: &ConversationId,
        batch: &Batch,
        revision: &str,
    ) -> Vec<String> {
        let line = |kind: RecordKind, id: &str, state: &str, digest: &str| {
            let fields = [
                conversation_id.as_str(),
                kind.as_str(),
                id,
                state,
                digest,
                revision,
            ];
            self.world.line(what, &fields)
        };
        let lines = batch.changes.iter().map(|change| match change {
            Change::Put(item) => line(item.kind(), item.id(), state(item), &digest(item)),
            Change::Delete(kind, id) => line(*kind, id, "gone", ""),
            _ => panic!("an unknown change"),
        });
        lines.collect()
    }
}

#[async_trait]
impl Store for Watched {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let stages = stages(&batch);
        for (before, _) in &stages {
            self.world.arrive(*before, conversation_id.as_str());
        }
        self.world
            .note_all(&self.lines("try", conversation_id, &batch, ""));
        let copy = batch.clone();
        match self.store.apply(conversation_id, batch).await {
            Ok(revision) => {
                let lines = self.lines("ack", conversation_id, &copy, &revision.0.to_string());
                self.world.note_all(&lines);
                for (before, after) in &stages {
                    if *before == Stage::BeforeRenewed {
                        self.world.note_renewed(conversation_id.as_str());
                    }
                    self.world.arrive(*after, conversation_id.as_str());
                }
                Ok(revision)
            }
            Err(error) => {
                let lines = self.lines("refused", conversation_id, &copy, "");
                self.world.note_all(&lines);
                Err(error)
            }
        }
    }

    /// The runner gets the watched spool.
    fn spool(&self) -> Option<Arc<dyn Spool>> {
        None
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.store.load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.store.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.store.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.store.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.store.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }
}

pub(crate) struct WatchedSpool {
    pub(crate) spool: Arc<DiskSpool>,
    pub(crate) world: Arc<World>,
}

#[async_trait]
impl Spool for WatchedSpool {
    async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>> {
        self.world.arrive(Stage::BeforeSpooled, "");
        let stored = self.spool.put(id, content).await;
        self.world.arrive(Stage::AfterSpooled, "");
        stored
    }

    async fn open(&self, id: &str) -> io::Result<Option<Arc<dyn ByteReader>>> {
        self.spool.open(id).await
    }

    async fn delete(&self, id: &str) -> io::Result<bool> {
        self.spool.delete(id).await
    }

    async fn list(&self) -> io::Result<Vec<String>> {
        self.spool.list().await
    }

    fn can_reopen(&self) -> bool {
        self.spool.can_reopen()
    }

    fn is_persistent(&self) -> bool {
        self.spool.is_persistent()
    }
}
