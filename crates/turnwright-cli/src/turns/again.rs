//! What must be so before a turn is taken up again, and the command that does it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use turnwright::RecordKind;
use turnwright::record::{CallState, Lease, LedgerEntry, Record};
use turnwright::store::{Query, Scope, Store as _, observe_lease};

use super::measures::ago;
use super::seen::Seen;
use crate::agent::is_address;
use crate::args;
use crate::kept::{About, Keeping, Place};
use crate::terminal::{Screen, fit, json, one_line, shell_path, shell_word};

/// How often a conversation that another process may hold is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(500);
/// How many calls are named in a sentence.
const NAMED: usize = 4;
/// How much of each.
const CALL: usize = 100;
/// The most of an id that is written out: the beginning of one is enough.
const LONGEST_ID: usize = 200;

/// The whole command that takes a turn up again, as a shell reads it. A file that was named chooses nothing by itself: all
/// that it says stands in the command, for whoever types it to judge.
pub(crate) fn command(seen: &Seen, about: Option<&About>, place: &Place) -> String {
    let mut options = place.option();
    if let Some(about) = about.filter(|_| place.is_named()) {
        if !about.partial && is_address(&about.server) {
            options.push_str(&format!(" --base-url {}", shell_word(&about.server)));
        }
        if !is_here(&about.folder) {
            options.push_str(&format!(" --folder {}", shell_path(&about.folder)));
        }
        if let Some(system) = &about.system {
            // As one word: a text may begin with a dash.
            options.push_str(&format!(" --system={}", shell_word(system)));
        }
        options.push_str(&naming(&about.tools));
    }
    let id: String = seen.id().chars().take(LONGEST_ID).collect();
    match id.starts_with('-') {
        true => format!("turnwright turns resume{options} -- {}", shell_word(&id)),
        false => format!("turnwright turns resume {}{options}", shell_word(&id)),
    }
}

/// Whether a folder is the one that is meant where none is named.
pub(super) fn is_here(folder: &Path) -> bool {
    let here = Path::new(".").canonicalize();
    here.is_ok_and(|here| here == folder)
}

/// The options that name these files of tools.
fn naming(tools: &[PathBuf]) -> String {
    tools
        .iter()
        .map(|file| format!(" --tools {}", shell_path(file)))
        .collect()
}

/// Refuses to take a turn up where that would cost something that cannot be had again: before anything has happened.
/// `missing` are the tools that its chat had and that nobody has named; none if no chat has held it.
pub(crate) async fn check(
    keeping: &Keeping,
    seen: &Seen,
    missing: Option<&[PathBuf]>,
    told: &args::Again,
    attended: bool,
) -> anyhow::Result<()> {
    if !seen.is_resumable() {
        return Ok(());
    }
    let Some(missing) = missing.or(told.without_tools.then_some(&[])) else {
        anyhow::bail!(
            "no chat of this program has held this turn: the program that did takes it up again, with its own tools. \
             `--without-tools` goes on with those that are here, for good. Nothing has happened yet"
        );
    };
    if !missing.is_empty() && !told.without_tools {
        let files: Vec<String> = missing.iter().map(|file| shell_path(file)).collect();
        anyhow::bail!(
            "its chat had the tools of {}: say `{}` to have them again, or `--without-tools` to go on without them. Nothing \
             has happened yet",
            files.join(" and "),
            naming(missing).trim_start()
        );
    }
    if attended || told.tell_model {
        return Ok(());
    }
    let doubts = doubts(keeping, seen).await?;
    if doubts.is_empty() {
        return Ok(());
    }
    anyhow::bail!(
        "nobody knows whether {} took effect, and there is no terminal to ask at. Take the turn up at one; or say \
         `--tell-model`, and the model is told that nobody knows, for good. Nothing has happened yet",
        in_words(&doubts)
    )
}

/// The calls of a turn that were begun and never ended.
pub(super) async fn doubts(
    keeping: &Keeping,
    seen: &Seen,
) -> anyhow::Result<Vec<Arc<LedgerEntry>>> {
    // Wherever they stand: a line of the ledger is the turn's by its name.
    let query = Query::all().kind(RecordKind::Ledger);
    let loaded = keeping.store.load(&seen.scope, &query).await;
    let loaded = loaded.map_err(|error| keeping.told(error))?;
    let lines = loaded.into_records().filter_map(|record| match record {
        Record::Ledger(line) => Some(line),
        _ => None,
    });
    Ok(lines
        .filter(|line| line.turn_id() == seen.id() && line.state() == CallState::Begun)
        .collect())
}

fn in_words(doubts: &[Arc<LedgerEntry>]) -> String {
    let named = doubts.iter().take(NAMED).map(|line| {
        let call = format!("{} {}", one_line(line.tool(), 64), json(line.args()));
        format!("`{}` (begun {})", fit(&call, CALL), ago(line.begun_at()))
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if doubts.len() > NAMED {
        text.push_str(&format!(" and {} more", doubts.len() - NAMED));
    }
    text
}

/// A look at a conversation that another process may hold.
pub(crate) struct Look {
    /// For how long it may still do so, if it may: by what this process has seen of the lease.
    pub(crate) left: Option<Duration>,
    /// Whether it seems to, by the wall clock.
    pub(crate) seems_held: bool,
    /// Changes whenever the holder renews its lease.
    pub(crate) renewals: Option<(u64, u64)>,
}

/// Looks at the lease of a conversation, if it names this turn where one is named. One that cannot be read holds nobody
/// up here: the store's fence decides.
pub(crate) async fn look(
    keeping: &Keeping,
    scope: &Scope,
    turn: Option<&str>,
) -> anyhow::Result<Look> {
    let query = Query::all().kind(RecordKind::Lease).ids([Lease::ID]);
    let loaded = keeping.store.load(scope, &query).await;
    let loaded = loaded.map_err(|error| keeping.told(error))?;
    let lease = loaded.into_records().find_map(Record::into_lease);
    let lease = lease.filter(|lease| turn.is_none() || lease.turn_id() == turn);
    let lease = lease.as_deref();
    Ok(Look {
        left: lease.and_then(|lease| observe_lease(scope, lease)),
        seems_held: lease.is_some_and(|lease| lease.estimated_left().is_some()),
        renewals: lease.map(|lease| (lease.fence(), lease.renewals())),
    })
}

/// Waits until no process holds a conversation, or this turn of it. One that seems to hold it, or is seen to renew its
/// lease, is an error at once unless `wait` says otherwise.
pub(crate) async fn wait_until_free(
    keeping: &Keeping,
    scope: &Scope,
    turn: Option<&str>,
    wait: bool,
    helps: &str,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let mut first = None;
    loop {
        let look = look(keeping, scope, turn).await?;
        let Some(left) = look.left else {
            screen.rest();
            return Ok(());
        };
        let renewed = *first.get_or_insert(look.renewals) != look.renewals;
        if !wait && (look.seems_held || renewed) {
            return Err(held(scope, left, helps));
        }
        screen.busy(&waiting(left));
        tokio::time::sleep(LOOK.min(left)).await;
    }
}

/// What is said while the lease of a process that may be gone is waited for.
pub(super) fn waiting(left: Duration) -> String {
    let seconds = left.as_secs().saturating_add(1);
    format!(
        "waiting up to {seconds} s: another process has this conversation, or crashed while it did"
    )
}

/// That somebody else has a conversation now. Nothing is wrong with the command: it may work the next time.
pub(super) fn held(scope: &Scope, left: Duration, helps: &str) -> anyhow::Error {
    let seconds = left.as_secs().saturating_add(1);
    let s = if seconds == 1 { "" } else { "s" };
    anyhow::anyhow!(
        "another program has the conversation {}: for {seconds} second{s} more if it has crashed, else until its turn ends. \
         {helps}",
        one_line(scope.as_str(), 64)
    )
}
