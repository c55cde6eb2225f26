//! The measured runner, and the batches that its calls write.

use std::error::Error;
use std::sync::{Arc, Mutex};
use turnwright_core::spool::Spool;
use turnwright_core::store::{
    Changes, ConversationFilter, FoundConversation, FoundTurn, Loaded, Query, TurnFilter,
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use turnwright_core::record::RecordKind;
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::{
    Batch, Change, ConversationId, MemoryStore, Revision, Store, StoreError,
};
use turnwright_core::trust::ConversationSecret;
use turnwright_core::{
    BoxError, DispatchContext, Effects, Executor, Storage, Tool, ToolContext, TurnInput, TurnRunner,
};

const ARGS: &str = r#"{"word": "turn", "most": 3}"#;
pub(crate) const CALLS: u32 = 3;

/// The kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// Read-only: its record is stored when it is done.
    Reads,
    /// May write: its ledger entry is on the disk before it runs.
    Writes,
}

impl Called {
    pub(crate) const ALL: [Called; 2] = [Called::Reads, Called::Writes];

    const fn tool(self) -> &'static str {
        match self {
            Called::Reads => "look_up",
            Called::Writes => "note_down",
        }
    }
}

fn tool(called: Called) -> Result<Tool, turnwright_core::Error> {
    let schema = json!({
        "type": "object",
        "properties": {
            "word": { "type": "string" },
            "most": { "type": "integer", "minimum": 1, "maximum": 10 },
        },
        "required": ["word"],
        "additionalProperties": false,
    });
    let effects = match called {
        Called::Reads => Effects::ReadOnly,
        Called::Writes => Effects::Writes,
    };
    Tool::dynamic(called.tool(), schema)
        .description("Answers with a few words.")
        .effects(effects)
        .handler(|args: Value, _: ToolContext| async move {
            format!("nothing is known of {}", args["word"])
        })
        .build()
}

/// A scripted model: one call in each of three iterations, and an answer in the last.
struct Script(Called);

#[async_trait]
impl Executor for Script {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        ctx.call_tools([ctx.propose(self.0.tool(), ARGS)]).await;
        if ctx.iteration() == CALLS {
            ctx.answer("That is all.").await?;
        }
        Ok(())
    }
}

pub(crate) fn runner(
    called: Called,
    storage: Storage,
) -> Result<TurnRunner, turnwright_core::Error> {
    turnwright_core::runner(Script(called))
        .storage(storage)
        .tool(tool(called)?)
        .build()
}

/// Runs one turn, which must follow the script.
pub(crate) async fn turn(runner: &TurnRunner, conversation: &str) {
    let input = TurnInput::new("What is known of it?").conversation(conversation);
    let outcome = runner.run(input).await;
    let fine = outcome.is_answered() && outcome.tool_calls().count() == CALLS as usize;
    assert!(fine, "{outcome:?}");
}

pub(crate) fn runtime() -> Runtime {
    let built = Builder::new_current_thread().enable_time().build();
    built.expect("a runtime can be made")
}

/// Records batches.
#[derive(Clone, Default)]
struct Noted {
    store: MemoryStore,
    batches: Arc<Mutex<Vec<Batch>>>,
}

#[async_trait]
impl Store for Noted {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.batches
            .lock()
            .expect("nothing panics")
            .push(batch.clone());
        self.store.apply(conversation_id, batch).await
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

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.store.spool()
    }
}

/// Returns the batches of this many turns, in order.
fn batches(called: Called, turns: usize) -> Result<Vec<Batch>, Box<dyn Error>> {
    let noted = Noted::default();
    let spool = Arc::new(MemorySpool::with_capacity(64 * 1024 * 1024));
    let storage = Storage::new(
        noted.clone(),
        spool,
        ConversationSecret::from_bytes([7; 32]),
    );
    let runner = runner(called, storage?)?;
    runtime().block_on(async {
        for _ in 0..turns {
            turn(&runner, "chat").await;
        }
    });
    let batches = noted.batches.lock().expect("nothing panics");
    Ok(batches.clone())
}

/// Returns the batches that turns write for their calls, separately for each call.
pub(crate) fn calls(called: Called, turns: usize) -> Result<Vec<Vec<Batch>>, Box<dyn Error>> {
    let mut batches = batches(called, turns)?;
    let of_calls = |batch: &Batch| {
        batch.changes.iter().any(|change| match change {
            Change::Put(record) => {
                matches!(record.kind(), RecordKind::ToolCall | RecordKind::Ledger)
            }
            _ => false,
        })
    };
    batches.retain(of_calls);
    let each = batches.len() / (turns * CALLS as usize);
    assert_eq!(batches.len(), turns * CALLS as usize * each);
    Ok(batches.chunks(each).map(<[Batch]>::to_vec).collect())
}

/// Records of one turn: the turn itself, a message, three calls with a ledger entry each, and an answer.
const RECORDS: usize = 3 + 2 * CALLS as usize;

/// Returns the batches of as many turns as make this many records, with the lease of their conversation.
pub(crate) fn conversation(records: usize) -> Result<Vec<Batch>, Box<dyn Error>> {
    batches(Called::Writes, (records - 1) / RECORDS)
}
