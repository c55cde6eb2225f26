//! `turnwright turns list`.

use crate::args;
use crate::exit::Exit;
use crate::storage::{Storage, StorageLocation};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, fit, one_line};
use crate::units::count;

use super::damaged::tell_damaged;
use super::find::{short, shortened};
use super::summary::{Digest, TurnSummary, turns};
use crate::units::{ago, took};

/// How much of a line is shown where nobody counts columns.
const LINE: usize = 160;
/// What is longer than an id as they are made is not made room for.
const WIDEST_ID: usize = 36;

const NOTHING: &str = "Nothing is kept yet.";

pub(super) async fn run(options: &args::TurnsList, mut screen: Screen) -> anyhow::Result<Exit> {
    let place = StorageLocation::of(&options.storage)?;
    let Some(storage) = Storage::open_to_read(place).await? else {
        if !screen.is_json() {
            screen.line(NOTHING)?;
        }
        return Ok(Exit::Done);
    };
    let all = turns(&storage, None).await?;
    let signs = short(all.turns.iter().map(TurnSummary::id));
    let found = match &options.conversation {
        Some(name) => turns(&storage, Some(name)).await?,
        None => all,
    };
    let (mut wanted, mut damaged) = (found.turns, found.damaged);
    wanted.retain(|summary| options.state.is_empty() || options.state.contains(&summary.state));
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    for summary in wanted.iter().take(limit) {
        let (digest, unread) = summary.digest(&storage).await?;
        damaged.extend(
            unread
                .into_iter()
                .map(|item| (summary.conversation_id.clone(), item)),
        );
        match screen.is_json() {
            true => screen.value(&summary.to_value(&digest)?)?,
            false => show(&mut screen, summary, &digest, signs)?,
        }
    }
    if !screen.is_json() {
        let narrowed =
            options.conversation.is_some() || !options.state.is_empty() || !damaged.is_empty();
        end(&mut screen, wanted.len(), limit, narrowed)?;
    }
    storage.close().await?;
    match damaged.is_empty() {
        true => Ok(Exit::Done),
        false => {
            tell_damaged(&mut screen.aside(), &storage, &damaged)?;
            Ok(Exit::No)
        }
    }
}

fn show(
    screen: &mut Screen,
    summary: &TurnSummary,
    digest: &Digest,
    signs: usize,
) -> anyhow::Result<()> {
    let columns = screen.width().unwrap_or(LINE);
    let id = shortened(summary.id(), signs);
    let mut facts = vec![ago(summary
        .turn
        .ended_at()
        .unwrap_or(summary.turn.began_at()))];
    if let Some(time) = summary.took() {
        let so_far = if summary.state.is_live() {
            " so far"
        } else {
            ""
        };
        facts.push(format!("{}{so_far}", took(time)));
    }
    match digest.calls {
        0 => {}
        1 => facts.push("1 call".to_owned()),
        calls => facts.push(format!("{} calls", count(calls as u64))),
    }
    let unknown = match digest.unknown {
        0 => String::new(),
        unknown => paint(style::CARE, format!(", {unknown} unknown")),
    };
    let state = paint(summary.state.style(), format_args!("{:<11}", summary.state));
    let wide = signs.min(WIDEST_ID);
    let id = paint(style::BOLD, format_args!("{id:<wide$}"));
    let facts = facts.join(" · ");
    screen.line(format_args!("{id}  {state}  {facts}{unknown}"))?;
    let first_message = match &digest.first_message {
        Some(first_message) => one_line(first_message, LINE * 2),
        None => "(nothing was said)".to_owned(),
    };
    let conversation_id = one_line(summary.conversation_id.as_str(), 40);
    let about = fit(&format!("  {conversation_id} › {first_message}"), columns);
    screen.line(paint(style::DIM, about))?;
    Ok(())
}

fn end(screen: &mut Screen, found: usize, limit: usize, narrowed: bool) -> anyhow::Result<()> {
    let text = match found {
        0 if narrowed => "There are no such turns.".to_owned(),
        0 => NOTHING.to_owned(),
        found if found > limit => {
            let more = count((found - limit) as u64);
            format!("… {more} more: `--limit {found}` shows all")
        }
        _ => return Ok(()),
    };
    screen.line(paint(style::DIM, text))?;
    Ok(())
}
