//! `turnwright wire replay`: runs recorded turns again.

use std::sync::Arc;
use turnwright::Executor as _;

use serde::Serialize;
use serde_json::json;
use turnwright::Next;
use turnwright::models::Options;
use turnwright::models::retry::RetryPolicy;
use turnwright::prelude::*;
use turnwright::record::{Author, ToolResults};
use turnwright_testkit::cassette::Cassette;

use super::beginning::Beginning;
use super::decode::protocol_of;
use super::turns::{RecordedResponse, RecordedTurn, turns};
use super::{recording, tools};
use crate::args::WireReplay;
use crate::exit::{Exit, misuse};
use crate::show::Show;
use crate::terminal::style;
use crate::terminal::{ApprovalPrompt, Screen, one_line, plain};

/// Never contacted: the recording answers.
const NOWHERE: &str = "http://recording.invalid/v1";

/// The most characters of the user's input that are shown.
const MAX_INPUT: usize = 400;

pub(crate) async fn replay(options: WireReplay, screen: Screen) -> anyhow::Result<Exit> {
    let exchanges = recording::read(&options.file)?.into_iter().enumerate();
    let exchanges = exchanges.map(|(at, exchange)| {
        let name = options.file.display();
        exchange
            .map_err(|error| misuse(format!("cannot replay `{name}`: exchange {at} is {error}")))
    });
    let exchanges = exchanges.collect::<anyhow::Result<Vec<_>>>()?;
    // Other requests, such as those for the list of models, are not part of a turn.
    let requests = exchanges.into_iter().filter(|item| item.method == "POST");
    let turns = turns(requests.map(|exchange| {
        let protocol = options.protocol.unwrap_or_else(|| protocol_of(&exchange));
        (protocol, exchange)
    }));
    if turns.is_empty() {
        return Err(misuse(format!(
            "`{}` contains no request, so there is nothing to replay",
            options.file.display()
        )));
    }
    let mut show = Show::new(screen, ApprovalPrompt::deny_all());
    let mut compared = Vec::new();
    for (number, turn) in (1..).zip(&turns) {
        let Some(ended) = play(&mut show, number, turns.len(), turn).await? else {
            return Ok(Exit::Interrupted);
        };
        compared.push(ended);
    }
    conclude(&mut show.screen, &compared)
}

/// How a replayed turn compares with the recorded one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Compared {
    responses: usize,
    played: usize,
    /// How the recorded one ended.
    recorded: String,
    /// How this one ended.
    ended: String,
    /// Whether this one ended as recorded.
    as_recorded: bool,
    /// Whether the last text is the recorded one, if there is one.
    same_text: Option<bool>,
    /// Calls that were not run.
    refused: Vec<RefusedCall>,
    /// Warnings for operators.
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct RefusedCall {
    tool: String,
    why: String,
}

impl Compared {
    fn is_equal(&self) -> bool {
        self.played == self.responses && self.as_recorded && self.same_text != Some(false)
    }
}

/// Replays a turn. `None` if it was cancelled.
async fn play(
    show: &mut Show,
    number: usize,
    of: usize,
    turn: &RecordedTurn,
) -> anyhow::Result<Option<Compared>> {
    let first = &turn.first;
    let beginning = Beginning::of(first);
    let (tools, notes) = tools::offered(&first.tools, &turn.answers);
    announce(&mut show.screen, number, of, &beginning, &notes)?;

    let cassette = Cassette::from_exchanges(turn.exchanges.clone()).in_order();
    let model = turn
        .protocol
        .builder_at(NOWHERE)
        .model(match first.model.as_str() {
            "" => "recorded",
            model => model,
        })
        .options(Options::new().stream(first.streams))
        // Whether the prompt fits is recorded.
        .context_window(u64::MAX)
        .retry(RetryPolicy::never())
        .transport(cassette.clone())
        .build()?;
    let (before, system) = (beginning.before, first.system.clone());
    let (model, recording) = (Arc::new(model), cassette.clone());
    let runner = turnwright::runner(move |ctx: DispatchContext| {
        let (model, recording) = (Arc::clone(&model), recording.clone());
        async move {
            model.execute(ctx.clone()).await?;
            // The turn ends with the recording, even if it ends with calls.
            if ctx.signal().is_none() && recording.unused().is_empty() {
                ctx.ack()?;
            }
            Ok(())
        }
    })
    .instructions(system)
    .tools(tools)
    .without_artifact_tools()
    .turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
        ctx.records().hydrate(before.clone());
        async move { next.run().await }
    })
    .build()?;
    let input = beginning
        .input
        .map_or_else(TurnInput::empty, TurnInput::new);
    let shown = show.turn(&runner, input).await?;
    if shown.interrupted {
        return Ok(None);
    }
    let left = cassette.unused().len();
    let warnings = std::mem::take(&mut show.tally.counts().warnings);
    Ok(Some(compare(turn, &shown.outcome, left, warnings)))
}

fn compare(
    turn: &RecordedTurn,
    outcome: &TurnOutcome,
    left: usize,
    warnings: Vec<String>,
) -> Compared {
    let failed = outcome.status.error().is_some();
    let (recorded, as_recorded) = match &turn.last {
        RecordedResponse::Status(status) => (format!("server error {status}"), failed),
        RecordedResponse::Broken => ("an incomplete response".into(), failed),
        RecordedResponse::Foreign => ("a response of another protocol".into(), false),
        RecordedResponse::Reply(reply) if !reply.is_complete() => {
            ("a response that was cut off".into(), true)
        }
        RecordedResponse::Reply(reply) if !reply.tool_calls.is_empty() => ("calls".into(), !failed),
        RecordedResponse::Reply(reply) if reply.text.is_empty() && !reply.refusal.is_empty() => {
            ("a refusal".into(), failed)
        }
        RecordedResponse::Reply(_) => ("an answer".into(), !failed),
    };
    let same_text = match &turn.last {
        RecordedResponse::Reply(reply) => {
            let words = format!("{}{}", reply.text, reply.refusal);
            (!words.is_empty()).then(|| last_words(outcome) == Some(words.as_str()))
        }
        _ => None,
    };
    let refused = outcome
        .tool_calls()
        .filter_map(|call| match call.results() {
            ToolResults::Refusal(why) => Some(RefusedCall {
                tool: call.tool().to_owned(),
                why: why.clone(),
            }),
            _ => None,
        });
    Compared {
        responses: turn.exchanges.len(),
        played: turn.exchanges.len().saturating_sub(left),
        recorded,
        as_recorded,
        same_text,
        ended: outcome.status.to_string(),
        refused: refused.collect(),
        warnings,
    }
}

/// The last text of the model, complete or not.
fn last_words(outcome: &TurnOutcome) -> Option<&str> {
    let messages = outcome
        .messages()
        .filter(|item| *item.author() != Author::User);
    messages.last().map(|item| item.text())
}

/// Prints which turn follows, its input, and what differs from the recording.
fn announce(
    screen: &mut Screen,
    number: usize,
    of: usize,
    beginning: &Beginning,
    notes: &[String],
) -> anyhow::Result<()> {
    if screen.is_json() {
        return screen.value(&json!({
            "event": "replayedTurn",
            "turn": number,
            "of": of,
            "input": beginning.input,
            "before": beginning.before.len(),
            "notes": notes,
        }));
    }
    if of > 1 {
        screen.painted(style::DIM, format_args!("turn {number} of {of}"))?;
    }
    for note in notes {
        let note = format!("note: {}", plain(note));
        screen.painted(style::WARN, note)?;
    }
    if let Some(input) = &beginning.input {
        let prompt = format!("> {}", one_line(input, MAX_INPUT));
        screen.painted(style::BOLD, prompt)?;
    }
    Ok(())
}

/// Prints how the turns compare.
fn conclude(screen: &mut Screen, turns: &[Compared]) -> anyhow::Result<Exit> {
    let equal = turns.iter().all(Compared::is_equal);
    let all = |count: fn(&Compared) -> usize| turns.iter().map(count).sum::<usize>();
    let (played, responses) = (all(|item| item.played), all(|item| item.responses));
    if screen.is_json() {
        screen.value(&json!({
            "event": "replayed",
            "ok": equal,
            "responses": responses,
            "played": played,
            "turns": turns,
        }))?;
    } else {
        screen.line("")?;
        for (number, turn) in (1..).zip(turns) {
            print_turn(screen, number, turn)?;
        }
        let style = if equal { style::GOOD } else { style::BAD };
        let text = format!("{played} of {responses} recorded responses were replayed");
        screen.painted(style, text)?;
    }
    Ok(if equal { Exit::Done } else { Exit::No })
}

fn print_turn(screen: &mut Screen, number: usize, turn: &Compared) -> anyhow::Result<()> {
    for call in &turn.refused {
        let (tool, why) = (plain(&call.tool), plain(&call.why));
        let text = format!("turn {number}: a call of {tool} was not run: {why}");
        screen.painted(style::WARN, text)?;
    }
    for warning in &turn.warnings {
        let text = format!("turn {number}: {}", plain(warning));
        screen.painted(style::WARN, text)?;
    }
    let recorded = &turn.recorded;
    let text = match (turn.as_recorded, turn.same_text) {
        (true, Some(true)) => format!("ended as recorded, with {recorded} and the same text"),
        (true, None) => format!("ended as recorded, with {recorded}"),
        (true, Some(false)) => format!("ended with {recorded} as recorded, but with another text"),
        (false, _) => {
            let ended = plain(&turn.ended);
            format!("recorded was {recorded}, but it ended with: {ended}")
        }
    };
    let missing = match turn.responses.saturating_sub(turn.played) {
        0 => String::new(),
        left => format!("; {left} of its responses were not requested"),
    };
    let equal = turn.is_equal();
    let style = if equal { style::DIM } else { style::BAD };
    let text = format_args!("turn {number}: {text}{missing}");
    Ok(screen.painted(style, text)?)
}
