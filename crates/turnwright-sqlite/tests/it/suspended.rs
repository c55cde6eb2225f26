//! Turns that are suspended in a database file: answered by one process, resumed by another.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::gate::GateAnswer;
use turnwright_core::store::{TurnFilter, WaitingState};
use turnwright_core::tool::approval::always;
use turnwright_core::{
    BoxError, DispatchContext, ErrorCode, Storage, Tool, ToolContext, TurnInput, TurnRunner,
};
use turnwright_sqlite::SqliteStorage as _;

use crate::child::{self, reported, say};
use crate::folder::Folder;

const TALK: &str = "ada/bills";
const TURN: &str = "turn-1";

/// Calls `pay`, and then says what came of it.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    match ctx.records().own_tool_calls().last() {
        None => drop(ctx.call("pay", r#"{"cents": 7}"#).await),
        Some(call) => drop(ctx.answer(call.text().await.unwrap_or_default()).await?),
    }
    Ok(())
}

async fn runner(file: &Path) -> TurnRunner {
    let pay = Tool::dynamic("pay", json!({ "type": "object" }))
        .description("Pays.")
        .approval(always("it costs"))
        .handler(|args: Value, _: ToolContext| async move { format!("paid {}", args["cents"]) })
        .build();
    turnwright_core::runner(model)
        .storage(Storage::sqlite(file).await.unwrap())
        .tool(pay)
        .suspend_at_gates()
        .build()
        .unwrap()
}

fn input() -> TurnInput {
    TurnInput::new("Pay.").conversation(TALK).turn_id(TURN)
}

/// Runs the turn until it is suspended. Says the id of its gate.
pub(crate) async fn suspend(file: &Path) {
    let outcome = runner(file).await.run(input()).await;
    for gate in outcome.open_gates() {
        say(&gate.id);
    }
}

/// Runs the turn with its gate held in memory, and says what came of it.
pub(crate) async fn wait_in_memory(file: &Path) {
    wait_with_lease(file, Duration::from_secs(60)).await;
}

/// The same with a lease that soon expires when the process is killed.
pub(crate) async fn wait_to_be_killed(file: &Path) {
    wait_with_lease(file, Duration::from_secs(1)).await;
}

async fn wait_with_lease(file: &Path, lease: Duration) {
    let runner = runner_that_waits(file, lease).await;
    let turn = runner.start(input());
    let mut gates = turn.gates();
    say(&gates.next().await.unwrap().id);
    say(&turn.await.text);
}

async fn runner_that_waits(file: &Path, lease: Duration) -> TurnRunner {
    let pay = Tool::dynamic("pay", json!({ "type": "object" }))
        .description("Pays.")
        .approval(always("it costs"))
        .handler(|_: Value, _: ToolContext| async { "paid by the process that waited" })
        .build();
    turnwright_core::runner(model)
        .storage(Storage::sqlite(file).await.unwrap())
        .tool(pay)
        .lease(lease)
        .build()
        .unwrap()
}

/// Records an approval at the only gate, and does not resume the turn.
pub(crate) async fn answer(file: &Path) {
    let storage = Storage::sqlite(file).await.unwrap();
    let waiting = storage
        .waiting(&TurnFilter::all().prefix("ada/"))
        .await
        .unwrap();
    let [turn] = &waiting[..] else {
        panic!("{waiting:?}")
    };
    let gate = &turn.gates[0].id;
    let answered = storage.answer_gate(&*turn.conversation, gate, GateAnswer::approve());
    answered.await.unwrap();
    say("answered");
}

/// Answers by the runner, which resumes the turn or follows it. Says what came of it.
pub(crate) async fn answer_and_continue(file: &Path) {
    let runner = runner(file).await;
    let waiting = runner.storage().waiting(&TurnFilter::all()).await.unwrap();
    let gate = &waiting[0].gates[0].id;
    let turn = runner.answer_gate(TALK, gate, GateAnswer::approve()).await;
    say(&turn.unwrap().await.text);
}

/// Does a task in a process of its own, and returns what it says.
fn in_process(task: &str, file: &Path) -> Vec<String> {
    let output = child::command(task, file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let lines = text.lines().filter_map(reported);
    lines.map(str::to_owned).collect()
}

/// Starts a task that is still running, and returns what it says first.
fn start(task: &str, file: &Path) -> (Child, String, impl Iterator<Item = String> + use<>) {
    let mut process = child::command(task, file).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok).filter_map(|line| {
        let said = reported(&line)?;
        Some(said.to_owned())
    });
    let first = lines.next().unwrap();
    (process, first, lines)
}

#[tokio::test]
async fn a_turn_that_is_suspended_is_resumed_by_another_store_with_the_recorded_answer() {
    let folder = Folder::new();
    let first = runner(&folder.file()).await;
    let outcome = first.run(input()).await;
    let gate = outcome.open_gates()[0].clone();
    drop(first);

    let second = runner(&folder.file()).await;
    let waiting = second.storage().waiting(&TurnFilter::all()).await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].state, WaitingState::Suspended);
    assert_eq!(waiting[0].gates[0].id, gate.id);
    assert_eq!(waiting[0].gates[0].args(), Some(&json!({ "cents": 7 })));
    let resumable = second.storage().resumable(&TurnFilter::all()).await;
    assert!(resumable.unwrap().is_empty(), "it waits for an answer");
    assert!(
        second
            .storage()
            .waiting(&TurnFilter::all().prefix("bob/"))
            .await
            .unwrap()
            .is_empty()
    );
    let more = TurnInput::new("More.").conversation(TALK);
    let error = second.run(more).await.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::TURN_WAITING);

    let turn = second.answer_gate(TALK, &gate.id, GateAnswer::edit(json!({ "cents": 3 })));
    assert_eq!(turn.await.unwrap().await.text, "paid 3");
    let late = second
        .answer_gate(TALK, &gate.id, GateAnswer::approve())
        .await;
    assert_eq!(late.unwrap_err().code(), ErrorCode::TURN_GATE_ANSWERED);
    assert!(
        second
            .storage()
            .waiting(&TurnFilter::all())
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn one_process_suspends_another_answers_and_a_third_resumes() {
    let folder = Folder::new();
    let file = folder.file();
    assert_eq!(in_process("suspend a turn", &file).len(), 1);
    assert_eq!(in_process("answer a gate", &file), ["answered"]);
    let runner = runner(&file).await;
    let waiting = runner
        .storage()
        .resumable(&TurnFilter::all())
        .await
        .unwrap();
    assert_eq!(waiting[0].state, WaitingState::AnsweredNotResumed);
    assert!(waiting[0].gates.is_empty());
    let outcome = runner.resume(&waiting[0]).await.unwrap().await;
    assert_eq!(outcome.into_answer().unwrap(), "paid 7");
}

#[tokio::test]
async fn an_answer_by_another_process_continues_a_suspended_turn_there() {
    let folder = Folder::new();
    let file = folder.file();
    in_process("suspend a turn", &file);
    assert_eq!(in_process("answer and continue", &file), ["paid 7"]);
    // It has its answer: nothing runs again.
    let outcome = runner(&file).await.resume(TURN).await.unwrap().await;
    assert_eq!(outcome.into_answer().unwrap(), "paid 7");
}

#[tokio::test]
async fn an_answer_by_another_process_reaches_a_turn_that_waits_in_memory() {
    let folder = Folder::new();
    let file = folder.file();
    let (mut process, gate, mut lines) = start("wait in memory", &file);
    // The gate is stored a moment after it is open.
    let storage = Storage::sqlite(&file).await.unwrap();
    while storage
        .waiting(&TurnFilter::all())
        .await
        .unwrap()
        .is_empty()
    {
        tokio::task::yield_now().await;
    }
    let waiting = storage.waiting(&TurnFilter::all()).await.unwrap();
    assert_eq!(waiting[0].state, WaitingState::Running);
    assert_eq!(*waiting[0].gates[0].id, *gate);
    // The runner of the second process follows the turn, and does not run it.
    let text = "paid by the process that waited";
    assert_eq!(in_process("answer and continue", &file), [text]);
    assert_eq!(lines.next().as_deref(), Some(text));
    assert!(process.wait().unwrap().success());
}

#[tokio::test]
async fn an_answer_at_a_turn_whose_process_was_killed_resumes_it() {
    let folder = Folder::new();
    let file = folder.file();
    let (mut process, _, _) = start("wait to be killed", &file);
    let runner = runner(&file).await;
    while runner
        .storage()
        .waiting(&TurnFilter::all())
        .await
        .unwrap()
        .is_empty()
    {
        tokio::task::yield_now().await;
    }
    process.kill().unwrap();
    process.wait().unwrap();
    // Its lease has not expired: the turn is followed until then, and resumed.
    let gate = runner.storage().waiting(&TurnFilter::all()).await.unwrap()[0].gates[0]
        .id
        .clone();
    let turn = runner.answer_gate(TALK, &gate, GateAnswer::approve()).await;
    assert_eq!(turn.unwrap().await.text, "paid 7");
}
