//! A process that was stopped for so long that another one took over its turn.

use std::fs;
use std::process::Command;

use super::case::{Case, Life};
use super::journal::{Noted, go, noted};
use super::judge::{Tally, judge};
use super::stages::{Stage, Stop};
use super::tools::READERS;
use super::world::Task;

fn signal(life: &Life, name: &str) {
    let process = life.id().to_string();
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -s \"$1\" \"$2\"", "sh", name, &process]);
    assert!(kill.status().unwrap().success());
}

/// The result of a process that lost its turn.
struct Lost {
    output: Vec<String>,
    /// What it wrote or started although the turn belonged to the other process.
    wrong: Vec<Noted>,
    was_refused: bool,
    tally: Tally,
}

/// Stops the first process at a stage until its lease has expired and a second one has answered, then continues it.
async fn lose(conversation: &str, stop: Stop) -> Lost {
    for _ in 0..10 {
        if let Some(lost) = try_to_lose(conversation, stop.clone()).await {
            return lost;
        }
    }
    panic!("{conversation}: it was stopped during a write ten times");
}

/// Returns `None` if the first process was stopped during a write, such as a renewal: then the second cannot write.
async fn try_to_lose(conversation: &str, stop: Stop) -> Option<Lost> {
    let mut case = Case::of(conversation);
    let mut first = case.start(Task::Begin, Some(stop.continues()));
    first.wait_for("at ").unwrap();
    signal(&first, "STOP");
    case.note_cut_off(&first);
    let second = case.finish(Task::TakeUp);
    let answered = format!("outcome {conversation}-1 answered - {conversation}-1 is done.");
    let is_locked = second
        .iter()
        .any(|line| line.contains("database is locked"));
    fs::write(go(case.folder()), "").unwrap();
    signal(&first, "CONT");
    let number = first.number();
    let output = first.end();
    if is_locked {
        return None;
    }
    assert!(second.contains(&answered), "{second:?}");
    let noted = noted(case.folder());
    // The second turn of the conversation, if it has one.
    case.finish(Task::GoOn);
    Some(Lost {
        output,
        wrong: wrong(&noted, number),
        was_refused: noted
            .iter()
            .any(|item| item.life == number && item.what == "refused"),
        tally: judge(&case).await,
    })
}

/// Returns what a process did after it had lost its turn: batches after the first one of the other process, and
/// handler starts. Calls that were recorded before and only read may still start.
fn wrong(noted: &[Noted], loser: u32) -> Vec<Noted> {
    let revision = |item: &Noted| item.field(5).parse::<u64>().unwrap();
    let taken = noted
        .iter()
        .find(|item| item.what == "ack" && item.life != loser);
    let taken = taken.map(revision).unwrap();
    let cut_off = noted
        .iter()
        .position(|item| item.what == "cut off")
        .unwrap();
    let (before, since) = noted.split_at(cut_off);
    let on_record = |call: &str| {
        let mut acknowledged = before.iter().filter(|item| item.what == "ack");
        acknowledged.any(|item| item.field(1) == "tool_call" && item.field(2) == call)
    };
    let is_wrong = |item: &&Noted| match item.what.as_str() {
        "ack" => revision(item) >= taken,
        "start" => !(on_record(item.field(1)) && READERS.contains(&item.field(2))),
        _ => false,
    };
    let of_loser = since.iter().filter(|item| item.life == loser);
    of_loser.filter(is_wrong).cloned().collect()
}

#[tokio::test]
async fn process_that_lost_its_lease_writes_and_starts_nothing() {
    let stops = [
        ("writes", Stop::at(Stage::BeforeBegun)),
        ("writes", Stop::at(Stage::BeforeBegun).nth(2)),
        ("writes", Stop::at(Stage::AfterBegun)),
        ("writes", Stop::at(Stage::BeforeEffect)),
        ("writes", Stop::at(Stage::BeforeSettled)),
        ("transfer", Stop::at(Stage::AfterBegun)),
        ("checked", Stop::at(Stage::AfterBegun)),
        ("together", Stop::at(Stage::BeforeBegun)),
        ("together", Stop::at(Stage::Checked)),
        ("together", Stop::at(Stage::BeforeSettled)),
        ("approval", Stop::at(Stage::Waiting)),
        ("approval", Stop::at(Stage::BeforeAnswered)),
        ("input", Stop::at(Stage::BeforeWaiting)),
        ("reads", Stop::at(Stage::BeforeOpen).nth(2)),
        ("slow", Stop::at(Stage::BeforeRenewed)),
        ("large", Stop::at(Stage::BeforeSpooled)),
        ("large", Stop::at(Stage::BeforeSpooled).nth(2)),
        ("words", Stop::at(Stage::BeforeWords)),
    ];
    for (conversation, stop) in stops {
        let shown = format!("{conversation} {:?} {}", stop.stage, stop.nth);
        let Lost {
            output,
            wrong,
            was_refused,
            tally,
        } = lose(conversation, stop).await;
        let reported = format!("outcome {conversation}-1 failed E_TURN_TAKEN_OVER ");
        assert!(output.contains(&reported), "{shown}: {output:?}");
        assert!(was_refused, "{shown}");
        assert!(wrong.is_empty(), "{shown}: {wrong:?}");
        assert_eq!(tally.resumes, 1, "{shown}");
    }
}

/// It had finished its answer: what it could not record, the other process has recorded.
#[tokio::test]
async fn lease_lost_after_the_answer_does_not_change_the_outcome() {
    let lost = lose("writes", Stop::at(Stage::BeforeEnd)).await;
    let reported = "outcome writes-1 answered - writes-1 is done.".to_owned();
    assert!(lost.output.contains(&reported), "{:?}", lost.output);
    assert!(lost.was_refused && lost.wrong.is_empty());
    assert_eq!((lost.tally.unknown, lost.tally.effects), (0, 2));
}
