//! The process that is killed: this binary, started again with orders.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::sleep;
use turnwright_core::event::{Event, EventKind};
use turnwright_core::gate::GateKind;
use turnwright_core::gate::{Gates, TurnGate};
use turnwright_core::record::TurnState;
use turnwright_core::spool::DiskSpool;
use turnwright_core::store::{ConversationId, StoreExt as _};
use turnwright_core::trust::ConversationSecret;
use turnwright_core::{
    BoxError, DispatchContext, Next, Storage, Turn, TurnContext, TurnInput, TurnRunner,
};
use turnwright_sqlite::SqliteStore;

use super::script::{Planned, TURNS, conversation_of, decide};
use super::stages::Stage;
use super::tools;
use super::watched::{Watched, WatchedSpool};
use super::world::{Orders, Task, World};
use crate::child::say;

const ORDERS: &str = "TURNWRIGHT_TURNS_ORDERS";
/// A process that runs for longer hangs.
const MAX_LEN: Duration = Duration::from_secs(100);

pub(crate) fn command(orders: &Orders) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["turns::child::does_its_turns", "--exact", "--nocapture"])
        .env(ORDERS, orders.to_text())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Opens the store and its spool.
pub(crate) async fn open(folder: &Path) -> (SqliteStore, Arc<DiskSpool>) {
    let spool = Arc::new(DiskSpool::open(folder.join("results")).await.unwrap());
    let builder = SqliteStore::builder(folder.join("chat.db")).spool(spool.clone());
    (builder.open().await.unwrap(), spool)
}

/// Not a test by itself: the entry point of child processes.
#[test]
fn does_its_turns() {
    let Ok(orders) = env::var(ORDERS) else {
        return;
    };
    thread::spawn(|| {
        thread::sleep(MAX_LEN);
        say("stuck");
        std::process::exit(3);
    });
    let world = Arc::new(World::new(Orders::from_text(&orders)));
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work(world));
    say("done");
}

async fn work(world: Arc<World>) {
    let (store, spool) = open(world.folder()).await;
    let runner = runner(&world, store.clone(), spool);
    say("ready");
    while world.orders().task == Task::TakeUpAtOnce && !world.may_go_on() {
        sleep(Duration::from_millis(1)).await;
    }
    let mut conversations: Vec<&str> = TURNS.iter().map(Planned::conversation).collect();
    conversations.dedup();
    if let Some(only) = &world.orders().only {
        conversations.retain(|item| item == only);
    }
    let mut playing = JoinSet::new();
    for conversation in conversations {
        let (world, store, runner) = (Arc::clone(&world), store.clone(), runner.clone());
        playing.spawn(async move { play(&world, &store, &runner, conversation).await });
    }
    while let Some(played) = playing.join_next().await {
        played.unwrap();
    }
    store.close().await.unwrap();
}

fn runner(world: &Arc<World>, store: SqliteStore, spool: Arc<DiskSpool>) -> TurnRunner {
    let (deciding, asking, watching) = (Arc::clone(world), Arc::clone(world), Arc::clone(world));
    let executor = move |ctx: DispatchContext| {
        let world = Arc::clone(&deciding);
        async move { decide(&world, ctx).await }
    };
    let spool = WatchedSpool {
        spool,
        world: Arc::clone(world),
    };
    let store = Watched {
        world: Arc::clone(world),
        store,
    };
    let secret = ConversationSecret::from_bytes([7; 32]);
    let storage = Storage::new(store, Arc::new(spool), secret);
    turnwright_core::runner(executor)
        .storage(storage.unwrap())
        .lease(world.orders().lease)
        .tools(tools::all(world))
        .unknown_calls(tools::reconcile_unknown)
        .turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
            let world = Arc::clone(&asking);
            async move {
                world.note("input", &[ctx.turn_id()]);
                world.arrive(Stage::InInput, ctx.conversation_id().as_str());
                if ctx.conversation_id().as_str() == "input" {
                    let gate = TurnGate::new("may_it").question("May it begin?").build()?;
                    if ctx.wait_for(gate).await? != Value::Bool(true) {
                        return Err(BoxError::from("an unexpected answer"));
                    }
                }
                next.run().await
            }
        })
        .observer(move |event: &Event| observe(&watching, event))
        .build()
        .unwrap()
}

fn observe(world: &World, event: &Event) {
    let conversation = conversation_of(&event.turn_id);
    match &event.kind {
        EventKind::ToolExecutionStart { .. } => world.arrive(Stage::Started, conversation),
        EventKind::ToolExecutionEnd { .. } => world.arrive(Stage::Ended, conversation),
        EventKind::GateOpened(gate) => {
            world.note("opened", &[&event.turn_id, &gate.id, gate.kind.as_str()]);
        }
        EventKind::Warning { message, .. } => world.note("warning", &[&event.turn_id, message]),
        _ => {}
    }
}

/// Runs the turns of a conversation, one after the other.
async fn play(world: &Arc<World>, store: &SqliteStore, runner: &TurnRunner, conversation: &str) {
    let conversation_id = ConversationId::new(conversation);
    for planned in TURNS
        .iter()
        .filter(|item| item.conversation() == conversation)
    {
        let there = match world.orders().task {
            Task::Begin => None,
            Task::GoOn | Task::TakeUp | Task::TakeUpAtOnce => {
                let turns = store.turns(&conversation_id).await.unwrap();
                turns.into_iter().find(|turn| turn.id() == planned.turn)
            }
        };
        let turn = match there {
            Some(there) if there.state == TurnState::Answered => continue,
            Some(_) => runner.resume(planned.turn).await.unwrap(),
            None if matches!(world.orders().task, Task::TakeUp | Task::TakeUpAtOnce) => return,
            None => {
                let input = TurnInput::new(planned.question()).conversation(conversation);
                runner.start(input.turn_id(planned.turn))
            }
        };
        let outcome = answered(world, turn, conversation).await;
        let ended = outcome.status.as_str();
        let code = outcome.error().map(|error| error.code().as_str());
        let code = code.unwrap_or("-");
        let text = outcome.text;
        say(&format!("outcome {} {ended} {code} {text}", planned.turn));
        if code != "-" {
            say(&format!("because {}", outcome.status));
            return;
        }
    }
}

/// Waits for a turn, and answers its gates meanwhile.
async fn answered(
    world: &Arc<World>,
    turn: Turn,
    conversation: &str,
) -> turnwright_core::TurnOutcome {
    let (world, conversation) = (Arc::clone(world), conversation.to_owned());
    let gates = turn.gates();
    let answering = tokio::spawn(async move { answer(&world, gates, &conversation).await });
    let outcome = turn.await;
    answering.await.unwrap();
    outcome
}

async fn answer(world: &World, mut gates: Gates, conversation: &str) {
    while let Some(gate) = gates.next().await {
        world.arrive(Stage::Waiting, conversation);
        sleep(Duration::from_millis(3)).await;
        let is_open = |gates: &Gates| gates.open().iter().any(|item| item.id == gate.id);
        let waits = conversation == "slow" && world.orders().lease < Duration::from_secs(1);
        while waits && !world.was_renewed(conversation) && is_open(&gates) {
            sleep(Duration::from_millis(3)).await;
        }
        let taken = match gate.kind {
            GateKind::Approval => gates.approve(&gate.id),
            GateKind::UnknownCall => {
                let key = gate.question["idempotencyKey"].as_str().unwrap();
                let found = if world.has_effect(key) {
                    json!({ "found": "done", "result": tools::result("wire", &gate.question["args"]["n"]) })
                } else {
                    json!({ "found": "not_done" })
                };
                gates.answer(&gate.id, found)
            }
            _ => gates.answer(&gate.id, json!(true)),
        };
        // A cancelled waiter is no longer there.
        if taken.unwrap() {
            world.note("answered", &[conversation, &gate.id]);
            world.arrive(Stage::Answered, conversation);
        }
    }
}
