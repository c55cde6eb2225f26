//! `turnwright turns list`.

use super::damaged;
use super::find::{short, shortened};
use super::summary::{Digest, TurnSummary, turns};
use crate::args;
use crate::exit::Exit;
use crate::storage::Storage;
use crate::terminal::style::{self, paint};
use crate::terminal::{LINE, Screen, fit, one_line};
use crate::units::{ago, count, plural, took};

/// The most columns of an id. A longer one gets no room of its own.
const WIDEST_ID: usize = 36;

const NOTHING: &str = "No turns are stored yet.";

pub(super) async fn run(options: &args::TurnsList, mut screen: Screen) -> anyhow::Result<Exit> {
    screen.busy("opening the database");
    let Some(storage) = Storage::open_if_there(&options.storage).await? else {
        screen.line(NOTHING)?;
        return Ok(Exit::Done);
    };
    let mut found = turns(&storage, None).await?;
    let length = short(found.turns.iter().map(TurnSummary::id));
    if let Some(name) = &options.conversation {
        found = turns(&storage, Some(name)).await?;
    }
    let states = &options.state;
    found
        .turns
        .retain(|summary| states.is_empty() || states.contains(&summary.state));
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    for summary in found.turns.iter().take(limit) {
        let (records, unread) = summary.records(&storage).await?;
        found.damaged.extend(unread);
        let digest = summary.digest(&records);
        screen.value(&summary.to_value(&digest)?)?;
        show(&mut screen, summary, &digest, length)?;
    }
    let filtered = options.conversation.is_some() || !states.is_empty();
    let filtered = filtered || !found.damaged.is_empty();
    let text = match found.turns.len() {
        0 if filtered => "No matching turns.".to_owned(),
        0 => NOTHING.to_owned(),
        all if all > limit => {
            let more = count((all - limit) as u64);
            format!("… {more} more; use `--limit {all}` to show all")
        }
        _ => String::new(),
    };
    if !text.is_empty() {
        screen.painted(style::DIM, text)?;
    }
    storage.store.close().await?;
    damaged::report(&mut screen.on_stderr(), &storage, &found.damaged)
}

fn show(
    screen: &mut Screen,
    summary: &TurnSummary,
    digest: &Digest,
    length: usize,
) -> anyhow::Result<()> {
    let turn = &summary.turn;
    let mut facts = vec![ago(turn.ended_at.unwrap_or(turn.started_at))];
    if let Some(time) = summary.took() {
        let live = summary.state.is_live();
        let so_far = if live { " so far" } else { "" };
        facts.push(format!("{}{so_far}", took(time)));
    }
    if digest.calls > 0 {
        facts.push(plural(digest.calls as u64, "call"));
    }
    let unknown = match digest.unknown {
        0 => String::new(),
        unknown => paint(style::WARN, format!(", {unknown} unknown")),
    };
    let state = paint(summary.state.style(), format_args!("{:<11}", summary.state));
    let (id, wide) = (shortened(summary.id(), length), length.min(WIDEST_ID));
    let id = paint(style::BOLD, format_args!("{id:<wide$}"));
    let facts = facts.join(" · ");
    screen.line(format_args!("{id}  {state}  {facts}{unknown}"))?;
    let first_message = match &digest.first_message {
        Some(first_message) => one_line(first_message, LINE * 2),
        None => "(no message)".to_owned(),
    };
    let conversation = summary.conversation_shown(40);
    let about = format!("  {conversation} › {first_message}");
    screen.painted(style::DIM, fit(&about, screen.columns()))?;
    Ok(())
}
