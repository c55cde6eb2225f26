//! The runner whose turns are measured, and the batches that a call of it writes.

use std::error::Error;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use turnwright_core::record::RecordKind;
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::{
    Batch, Change, ConversationId, Layered, MemoryStore, Revision, Store, StoreError, StoreLayer,
};
use turnwright_core::trust::ConversationSecret;
use turnwright_core::{
    BoxError, DispatchContext, Effects, Executor, Storage, Tool, ToolContext, TurnInput, TurnRunner,
};

const ARGS: &str = r#"{"word": "turn", "most": 3}"#;
pub(crate) const CALLS: u32 = 3;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// It only reads: its record is stored when it is done.
    Reads,
    /// It may change the world: the ledger has a line of it, on the disk, before it runs.
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

/// A model that plays a script: one call in each of three iterations, and an answer in the last.
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

/// One turn, which must come out as the script says.
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

/// Notes what is written.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<Batch>>>);

#[async_trait]
impl StoreLayer for Noted {
    async fn apply(
        &self,
        store: &dyn Store,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.0.lock().expect("nothing panics").push(batch.clone());
        store.apply(conversation_id, batch).await
    }
}

/// The batches of so many turns, in order.
fn batches(called: Called, turns: usize) -> Result<Vec<Batch>, Box<dyn Error>> {
    let noted = Noted::default();
    let store = Layered::new(noted.clone(), MemoryStore::default());
    let spool = Arc::new(MemorySpool::with_capacity(64 * 1024 * 1024));
    let storage = Storage::builder(store, spool, ConversationSecret::from_bytes([7; 32]));
    let runner = runner(called, storage.build()?)?;
    runtime().block_on(async {
        for _ in 0..turns {
            turn(&runner, "chat").await;
        }
    });
    let batches = noted.0.lock().expect("nothing panics");
    Ok(batches.clone())
}

/// The batches that turns write for their calls, each call's apart.
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

/// Records of one turn: the turn itself, a message, three calls with a line of the ledger each, and an answer.
const RECORDS: usize = 3 + 2 * CALLS as usize;

/// The batches of as many turns as make so many records, with the lease that their conversation has.
pub(crate) fn conversation(records: usize) -> Result<Vec<Batch>, Box<dyn Error>> {
    batches(Called::Writes, (records - 1) / RECORDS)
}
