//! Server faults, each at each position: the outcome of the turn, the number of requests, the bytes read, and the
//! records.

mod beyond;
mod rig;
mod table;
mod wire;

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use turnwright_core::ErrorCode;
use turnwright_testkit::server::fault::{self, ARGUMENTS, Fault, FaultPosition, TEXT, TOOL};
use turnwright_testkit::server::model::Protocol;
use turnwright_testkit::server::{Answer, ReceivedRequest, model};

use rig::{Rig, Seen};
use table::rows;

/// The parts of [`TEXT`] and of [`ARGUMENTS`] that arrive before the fault.
const WORDS: &str = "The quick brown";
const PIECE: &str = r#"{"city":"Paris""#;
/// The answer of the server after it has recovered.
const WELL: &str = "All is well.";

/// Longer than any of these turns may take.
const BOUND: Duration = Duration::from_secs(60);

/// A fault at a position, at every request, and the expected result.
#[derive(Clone, Copy)]
struct Row {
    protocol: Protocol,
    fault: Fault,
    place: FaultPosition,
    requests: usize,
    ends: Ends,
    /// A text that the error must contain.
    says: &'static str,
    held: Held,
    /// The maximum number of bytes read of one response.
    most: u64,
    once: Once,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    Answered,
    /// The executor failed with this code.
    Failed(ErrorCode),
    Nacked(ErrorCode),
    Otherwise,
}

/// What the store contains besides the user message.
#[derive(Clone, Copy)]
enum Held {
    Nothing,
    /// The part of the text that arrived.
    Words,
    /// A call that was not run, with the arguments that arrived.
    Piece,
    /// This many calls that were not run, although their arguments look complete.
    Unmade(usize),
    /// The text.
    Answer,
    /// The call that was run, and the text.
    Made,
}

/// The expected result if the fault happens only at the first request.
#[derive(Clone, Copy, PartialEq)]
enum Once {
    /// The request is retried, and nothing remains of the first attempt.
    Mended,
    /// There is no second attempt.
    Same,
    /// The fault is reported to the model, which continues.
    Reported,
}

impl Held {
    fn lines(self) -> Vec<String> {
        let mut lines = vec!["User: Go.".to_owned()];
        match self {
            Held::Nothing => {}
            Held::Words => lines.push(format!("Assistant: {WORDS}")),
            Held::Piece => lines.push(unmade(PIECE)),
            Held::Unmade(times) => lines.extend((0..times).map(|_| unmade(ARGUMENTS))),
            Held::Answer => lines.push(format!("Assistant: {TEXT}")),
            Held::Made => lines.extend(made(TEXT)),
        }
        lines
    }
}

fn unmade(arguments: &str) -> String {
    format!("not made: {TOOL} {arguments}")
}

fn made(then: &str) -> [String; 3] {
    [
        format!("made: {TOOL} {ARGUMENTS} gave sunny"),
        format!("ledger: {TOOL} done"),
        format!("Assistant: {then}"),
    ]
}

impl Row {
    fn differences(
        &self,
        seen: &Seen,
        lines: &[String],
        ends: Ends,
        requests: usize,
    ) -> Vec<String> {
        let mut found = Vec::new();
        let mut differ =
            |what: &str, expected: &dyn std::fmt::Debug, came: &dyn std::fmt::Debug| {
                let (expected, came) = (format!("{expected:?}"), format!("{came:?}"));
                if expected != came {
                    found.push(format!("{what}: {came} instead of {expected}"));
                }
            };
        differ("requests", &requests, &seen.requests);
        differ("ends", &ends, &seen.ends);
        differ("held", &lines, &seen.held);
        let runs = lines
            .iter()
            .filter(|line| line.starts_with("made:"))
            .count();
        differ("runs", &vec![ARGUMENTS; runs], &seen.runs);
        if ends != Ends::Answered && !seen.error.contains(self.says) {
            found.push(format!(
                "the error does not contain {:?}: {}",
                self.says, seen.error
            ));
        }
        if seen.most > self.most {
            found.push(format!(
                "{} bytes read, at most {} expected",
                seen.most, self.most
            ));
        }
        found
    }

    /// Runs with the fault at every request.
    async fn always(&self) -> Vec<String> {
        let Row {
            protocol,
            fault,
            place,
            ..
        } = *self;
        let seen = Rig::of(protocol, fault, place)
            .run(move |request| match request.number {
                0 => fault.answer(protocol, place),
                // After the call has run, the model answers with the same fault.
                _ if fault.is_harmless() => fault.answer(protocol, FaultPosition::InText),
                _ => fault.answer(protocol, place),
            })
            .await;
        self.differences(&seen, &self.held.lines(), self.ends, self.requests)
    }

    /// Runs with the fault at the first request, and a good reply afterwards.
    async fn once(&self) -> Vec<String> {
        let Row {
            protocol,
            fault,
            place,
            ..
        } = *self;
        let calls = place == FaultPosition::InArguments && !fault.is_harmless();
        let well = move |request: &ReceivedRequest| -> Answer {
            match request.number {
                0 => fault.answer(protocol, place),
                1 if calls => model::calls([("call_2", TOOL, ARGUMENTS)]).answer(request),
                _ if fault.is_harmless() => model::text(TEXT, 3).answer(request),
                _ => model::text(WELL, 3).answer(request),
            }
        };
        let seen = Rig::of(protocol, fault, place).run(well).await;
        if self.once == Once::Same {
            return self.differences(&seen, &self.held.lines(), self.ends, self.requests);
        }
        let mut lines = Held::Nothing.lines();
        if self.once == Once::Reported {
            lines.push(unmade(ARGUMENTS));
        }
        if calls {
            lines.extend(made(WELL));
        } else {
            lines.push(format!("Assistant: {WELL}"));
        }
        self.differences(&seen, &lines, Ends::Answered, 2 + usize::from(calls))
    }
}

/// Runs the complete table of a protocol. Rows that wait for a timeout run concurrently.
async fn differences(protocol: Protocol, run: AsyncRun) -> Vec<String> {
    let rows = rows(protocol);
    let (silent, others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| rig::is_silent(row.fault));
    let mut found = join_all(silent.iter().map(|row| run(row))).await;
    for row in &others {
        found.push(run(row).await);
    }
    let rows = silent.into_iter().chain(others).zip(found);
    rows.flat_map(|(row, found)| {
        let name = format!("{protocol}: {}, {}", row.fault, row.place);
        found.into_iter().map(move |item| format!("{name}: {item}"))
    })
    .collect()
}

type AsyncRun = for<'r> fn(&'r Row) -> BoxFuture<'r, Vec<String>>;

#[test]
fn tables_have_every_fault_at_every_position_once() {
    for &protocol in Protocol::ALL {
        let rows = rows(protocol);
        let of = |fault, place| {
            rows.iter()
                .filter(move |item| item.fault == fault && item.place == place)
                .count()
        };
        let wrong: Vec<String> = fault::table(protocol)
            .filter(|&(fault, place)| of(fault, place) != 1)
            .map(|(fault, place)| format!("{fault}, {place}: {} rows", of(fault, place)))
            .collect();
        assert!(wrong.is_empty(), "{protocol}:\n{}", wrong.join("\n"));
        assert_eq!(
            rows.len(),
            fault::table(protocol).count(),
            "{protocol}: a row for a combination that does not exist"
        );
        let harmless = rows.iter().filter(|row| row.fault.is_harmless());
        for row in harmless {
            let complete = matches!(row.held, Held::Answer | Held::Made);
            let answered = row.ends == Ends::Answered;
            assert!(complete && answered, "{protocol}: {}", row.fault);
        }
    }
}

/// Asserts that permanent and single faults of a protocol end as in its table.
async fn faults_end_as_in_the_table(protocol: Protocol) {
    let mut found = differences(protocol, |row| Box::pin(row.always())).await;
    let once = differences(protocol, |row| Box::pin(row.once())).await;
    found.extend(once.into_iter().map(|item| format!("once: {item}")));
    assert!(
        found.is_empty(),
        "{} differences:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[tokio::test]
async fn faults_of_chat_completions_end_as_in_the_table() {
    faults_end_as_in_the_table(Protocol::ChatCompletions).await;
}

#[tokio::test]
async fn faults_of_responses_end_as_in_the_table() {
    faults_end_as_in_the_table(Protocol::Responses).await;
}

#[tokio::test]
async fn faults_of_anthropic_end_as_in_the_table() {
    faults_end_as_in_the_table(Protocol::Anthropic).await;
}

#[tokio::test]
async fn faults_of_gemini_end_as_in_the_table() {
    faults_end_as_in_the_table(Protocol::Gemini).await;
}

#[tokio::test]
async fn faults_of_ollama_end_as_in_the_table() {
    faults_end_as_in_the_table(Protocol::Ollama).await;
}
