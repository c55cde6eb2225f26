//! Turns that are taken up again, sentence by sentence. A process that dies is a runtime that is dropped while its turn runs:
//! nothing that was awaited goes on, and nobody says that it ended.

mod answers;
mod calls;
mod damaged;
mod every_write;
mod gates;
mod held;
mod suspended;
mod turns;
mod unknown;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use turnwright_core::record::Record;
use turnwright_core::store::MemoryStore;

use super::*;
use turnwright_core::runner::TurnRunnerBuilder;

/// The conversation and the turn of every test here.
const TALK: &str = "talk";
const TURN: &str = "turn-1";

fn process() -> Runtime {
    let builder = &mut Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// What lasts.
#[derive(Clone, Default)]
struct World {
    store: Arc<MemoryStore>,
    /// What handlers did.
    runs: Notes,
}

impl World {
    fn runner(&self, model: &ScriptedModel) -> TurnRunnerBuilder {
        runner(model.clone()).storage(storage_of(Arc::clone(&self.store)))
    }

    /// A tool that notes each run with its effect key, and gives a text.
    fn acting(&self, name: &'static str) -> ToolBuilder<Value> {
        let runs = self.runs.clone();
        tool(name).handler(move |_: Value, ctx: ToolContext| {
            let runs = runs.clone();
            async move {
                runs.note(ctx.idempotency_key());
                format!("{name} is done")
            }
        })
    }

    /// The same, as it was in the process that died: its handler never ended.
    fn endless(&self, name: &'static str, reached: &Arc<Notify>) -> ToolBuilder<Value> {
        let (runs, reached) = (self.runs.clone(), Arc::clone(reached));
        tool(name).handler(move |_: Value, ctx: ToolContext| {
            let (runs, reached) = (runs.clone(), Arc::clone(&reached));
            async move {
                runs.note(ctx.idempotency_key());
                reached.notify_one();
                std::future::pending::<&str>().await
            }
        })
    }

    /// Runs the turn in a process that dies at this moment.
    fn die(&self, runner: &TurnRunner, reached: &Notify) {
        let process = process();
        let turn = process.block_on(async {
            let turn = runner.start(go_input());
            reached.notified().await;
            turn
        });
        drop((process, turn));
    }

    async fn conversation_id(&self) -> Vec<Record> {
        self.store
            .records(&ConversationId::new(TALK))
            .await
            .unwrap()
    }

    async fn ledger(&self) -> Vec<(String, &'static str)> {
        ledger(&*self.store, TALK).await
    }

    async fn state(&self) -> (&'static str, u32) {
        let turns = self.store.turns(&ConversationId::new(TALK)).await.unwrap();
        let turn = turns.iter().find(|turn| turn.id() == TURN).unwrap();
        (turn.state.as_str(), turn.runs)
    }

    /// The calls of the conversation, with their ids.
    async fn calls(&self) -> Vec<Arc<ToolCall>> {
        self.store
            .tool_calls(&ConversationId::new(TALK))
            .await
            .unwrap()
    }
}

fn go_input() -> TurnInput {
    TurnInput::new("go").conversation(TALK).turn_id(TURN)
}

/// A script of one call.
fn calls(tool: &str) -> ScriptedModel {
    ScriptedModel::new([Step::call_tool(tool, "{}")])
}

/// The script of whoever goes on.
fn answers() -> ScriptedModel {
    ScriptedModel::new([Step::say("All is well.")])
}
