//! Recorded turns, played again through the whole kit.

use async_trait::async_trait;
use serde_json::json;
use turnwright::models::chat_completions::Options;
use turnwright::models::retry::RetryPolicy;
use turnwright::prelude::*;
use turnwright::record::{Author, ToolResults};
use turnwright_testkit::cassette::Cassette;

use super::messages::{Beginning, messages, text_of};
use super::turns::{RecordedResponse, RecordedTurn, turns};
use super::{recording, tools};
use crate::args::WireReplay;
use crate::exit::{Exit, misuse};
use crate::show::Show;
use crate::terminal::style::{self, paint};
use crate::terminal::{ApprovalPrompt, Screen, one_line, plain};

/// Nobody is dialled there: what answers is the recording.
const NOWHERE: &str = "http://recording.invalid/v1";

/// How much of what a user says is shown.
const SAID: usize = 400;

pub(crate) async fn replay(options: WireReplay, screen: Screen) -> anyhow::Result<Exit> {
    let exchanges = recording::read(&options.file)?.into_iter().enumerate();
    let exchanges = exchanges.map(|(at, exchange)| {
        let name = options.file.display();
        exchange
            .map_err(|error| misuse(format!("`{name}` cannot be played: number {at} is {error}")))
    });
    let turns = turns(exchanges.collect::<anyhow::Result<Vec<_>>>()?);
    if turns.is_empty() {
        return Err(misuse(format!(
            "`{}` holds no request: there is nothing to play",
            options.file.display()
        )));
    }
    let mut show = Show::new(screen, ApprovalPrompt::nobody());
    let mut compared = Vec::new();
    for (number, turn) in (1..).zip(&turns) {
        let Some(ended) = play(&mut show, number, turns.len(), turn).await? else {
            return Ok(Exit::Interrupted);
        };
        compared.push(ended);
    }
    conclude(&mut show.screen, &compared)
}

/// How a turn that was played compares with the one that was recorded.
struct Compared {
    responses: usize,
    played: usize,
    /// How the recorded one ended.
    recorded: String,
    /// Whether this one ended like that.
    as_recorded: bool,
    /// Whether the last words are the recorded ones, where there are some.
    same_text: Option<bool>,
    /// How this one ended.
    ended: String,
    /// Calls that the contract refused: the tool, and why.
    refused: Vec<(String, String)>,
    /// What the kit has to say to operators.
    warnings: Vec<String>,
}

impl Compared {
    fn is_equal(&self) -> bool {
        self.played == self.responses && self.as_recorded && self.same_text != Some(false)
    }
}

/// Plays a turn. `None` if somebody called it off.
async fn play(
    show: &mut Show,
    number: usize,
    of: usize,
    turn: &RecordedTurn,
) -> anyhow::Result<Option<Compared>> {
    let Some(first) = turn.exchanges.first() else {
        return Ok(None);
    };
    let beginning = Beginning::of(messages(&first.request));
    let (tools, notes) = tools::offered(&first.request, &turn.answers);
    announce(&mut show.screen, number, of, &beginning, &notes)?;

    let cassette = Cassette::playing(turn.exchanges.clone()).in_order();
    let streams = first.request.get("stream") == Some(&true.into());
    let model = ChatCompletions::builder(NOWHERE)
        .model(match text_of(&first.request, "model") {
            "" => "recorded",
            model => model,
        })
        .options(Options::new().stream(streams))
        .system_prompt(beginning.system)
        // The server took it, or did not: that is recorded.
        .context_window(u64::MAX)
        .retry(RetryPolicy::never())
        .transport(cassette.clone())
        .build()?;
    let before = beginning.before;
    let runner = turnwright::runner(Replayed {
        model,
        cassette: cassette.clone(),
    })
    .tools(tools)
    .without_artifact_tools()
    .turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
        ctx.hydrate(before.clone());
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
    let warnings = show.tally().take_warnings();
    Ok(Some(compare(turn, &shown.outcome, left, warnings)))
}

/// A model that ends its turn where the recording ends, also where tools were called of which nobody told the model what came.
#[derive(Debug)]
struct Replayed {
    model: ChatCompletions,
    cassette: Cassette,
}

#[async_trait]
impl Executor for Replayed {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        self.model.execute(ctx.clone()).await?;
        if ctx.signal().is_none() && self.cassette.unused().is_empty() {
            ctx.ack()?;
        }
        Ok(())
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    fn model(&self) -> Option<&str> {
        self.model.model()
    }
}

fn compare(
    turn: &RecordedTurn,
    outcome: &TurnOutcome,
    left: usize,
    warnings: Vec<String>,
) -> Compared {
    let failed = outcome.ended.error().is_some();
    let (recorded, as_recorded) = match &turn.last {
        RecordedResponse::Status(status) => (format!("the server's error {status}"), failed),
        RecordedResponse::Broken => ("a response that breaks off".into(), failed),
        RecordedResponse::Foreign => ("a response that is not of this protocol".into(), false),
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
            ToolResults::Refusal(why) => Some((call.tool().to_owned(), why.clone())),
            _ => None,
        });
    Compared {
        responses: turn.exchanges.len(),
        played: turn.exchanges.len().saturating_sub(left),
        recorded,
        as_recorded,
        same_text,
        ended: outcome.ended.to_string(),
        refused: refused.collect(),
        warnings,
    }
}

/// The last that the model said, whether it came to its end or not.
fn last_words(outcome: &TurnOutcome) -> Option<&str> {
    let messages = outcome
        .messages()
        .filter(|item| *item.author() != Author::User);
    messages.last().map(|item| item.text())
}

/// Says which turn follows, what is said to the model, and what is otherwise than it was.
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
        screen.line(paint(style::DIM, format_args!("turn {number} of {of}")))?;
    }
    for note in notes {
        let note = format!("note: {}", plain(note));
        screen.line(paint(style::CARE, note))?;
    }
    if let Some(input) = &beginning.input {
        let prompt = format!("> {}", one_line(input, SAID));
        screen.line(paint(style::BOLD, prompt))?;
    }
    Ok(())
}

/// Says how all of it compares.
fn conclude(screen: &mut Screen, turns: &[Compared]) -> anyhow::Result<Exit> {
    let equal = turns.iter().all(Compared::is_equal);
    let all = |count: fn(&Compared) -> usize| turns.iter().map(count).sum::<usize>();
    let (played, responses) = (all(|item| item.played), all(|item| item.responses));
    if screen.is_json() {
        let turns: Vec<_> = turns.iter().map(as_json).collect();
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
            tell(screen, number, turn)?;
        }
        let style = if equal { style::GOOD } else { style::BAD };
        let text = format!("{played} of {responses} recorded responses were played");
        screen.line(paint(style, text))?;
    }
    Ok(if equal { Exit::Done } else { Exit::No })
}

fn as_json(turn: &Compared) -> serde_json::Value {
    let refused = turn.refused.iter();
    let refused = refused.map(|(tool, why)| json!({ "tool": tool, "why": why }));
    json!({
        "responses": turn.responses,
        "played": turn.played,
        "recorded": turn.recorded,
        "ended": turn.ended,
        "asRecorded": turn.as_recorded,
        "sameText": turn.same_text,
        "refused": refused.collect::<Vec<_>>(),
        "warnings": turn.warnings,
    })
}

fn tell(screen: &mut Screen, number: usize, turn: &Compared) -> anyhow::Result<()> {
    for (tool, why) in &turn.refused {
        let (tool, why) = (plain(tool), plain(why));
        let text = format!("turn {number}: the contract refused a call of {tool}: {why}");
        screen.line(paint(style::CARE, text))?;
    }
    for warning in &turn.warnings {
        let text = format!("turn {number}: {}", plain(warning));
        screen.line(paint(style::CARE, text))?;
    }
    let recorded = &turn.recorded;
    let text = match (turn.as_recorded, turn.same_text) {
        (true, Some(true)) => {
            format!("turn {number}: ended as recorded, with {recorded}, word for word")
        }
        (true, None) => format!("turn {number}: ended as recorded, with {recorded}"),
        (true, Some(false)) => {
            format!("turn {number}: ended with {recorded} as recorded, but in other words")
        }
        (false, _) => {
            let ended = plain(&turn.ended);
            format!("turn {number}: ended otherwise than recorded ({recorded}): {ended}")
        }
    };
    let missing = match turn.responses.saturating_sub(turn.played) {
        0 => String::new(),
        left => format!("; {left} of its responses were not asked for"),
    };
    let style = if turn.is_equal() {
        style::DIM
    } else {
        style::BAD
    };
    Ok(screen.line(paint(style, format_args!("{text}{missing}")))?)
}
