//! `turnwright turns list`.

use crate::args;
use crate::exit::Exit;
use crate::kept::{Keeping, Place};
use crate::show::count;
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, fit, one_line};

use super::damaged::tell_damaged;
use super::measures::{ago, took};
use super::seen::{Digest, Seen, turns};
use super::which::{short, shortened};

/// How much of a line is shown where nobody counts columns.
const LINE: usize = 160;
/// What is longer than an id as they are made is not made room for.
const WIDEST_ID: usize = 36;

const NOTHING: &str = "Nothing is kept yet.";

pub(super) async fn run(told: &args::TurnsList, mut screen: Screen) -> anyhow::Result<Exit> {
    let place = Place::of(&told.kept)?;
    let Some(keeping) = Keeping::open_to_read(place).await? else {
        if !screen.is_json() {
            screen.line(NOTHING)?;
        }
        return Ok(Exit::Done);
    };
    let all = turns(&keeping, None).await?;
    let signs = short(all.turns.iter().map(Seen::id));
    let found = match &told.conversation {
        Some(name) => turns(&keeping, Some(name)).await?,
        None => all,
    };
    let (mut wanted, mut damaged) = (found.turns, found.damaged);
    wanted.retain(|seen| told.state.is_empty() || told.state.contains(&seen.state));
    let limit = usize::try_from(told.limit).unwrap_or(usize::MAX);
    for seen in wanted.iter().take(limit) {
        let (digest, unread) = seen.digest(&keeping).await?;
        damaged.extend(unread.into_iter().map(|it| (seen.scope.clone(), it)));
        match screen.is_json() {
            true => screen.value(&seen.to_value(&digest)?)?,
            false => show(&mut screen, seen, &digest, signs)?,
        }
    }
    if !screen.is_json() {
        let narrowed = told.conversation.is_some() || !told.state.is_empty() || !damaged.is_empty();
        end(&mut screen, wanted.len(), limit, narrowed)?;
    }
    keeping.close().await?;
    match damaged.is_empty() {
        true => Ok(Exit::Done),
        false => {
            tell_damaged(&mut screen.aside(), &keeping, &damaged)?;
            Ok(Exit::No)
        }
    }
}

fn show(screen: &mut Screen, seen: &Seen, digest: &Digest, signs: usize) -> anyhow::Result<()> {
    let columns = screen.width().unwrap_or(LINE);
    let id = shortened(seen.id(), signs);
    let mut facts = vec![ago(seen.turn.ended_at().unwrap_or(seen.turn.began_at()))];
    if let Some(time) = seen.took() {
        let so_far = if seen.state.is_live() { " so far" } else { "" };
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
    let state = paint(seen.state.style(), format_args!("{:<11}", seen.state));
    let wide = signs.min(WIDEST_ID);
    let id = paint(style::BOLD, format_args!("{id:<wide$}"));
    let facts = facts.join(" · ");
    screen.line(format_args!("{id}  {state}  {facts}{unknown}"))?;
    let said = match &digest.said {
        Some(said) => one_line(said, LINE * 2),
        None => "(nothing was said)".to_owned(),
    };
    let scope = one_line(seen.scope.as_str(), 40);
    let about = fit(&format!("  {scope} › {said}"), columns);
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
