//! Checks before a turn is resumed, and the command that resumes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use turnwright::RecordKind;
use turnwright::record::{CallState, Lease, LedgerEntry, Record};
use turnwright::store::{ConversationId, Query, Store as _, observe_lease};

use super::summary::TurnSummary;
use crate::agent::is_address;
use crate::args;
use crate::storage::{ChatNote, Storage, StorageLocation};
use crate::terminal::{Screen, fit, json, one_line, shell_path, shell_word};
use crate::units::ago;

/// The interval between two reads of a lease.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The most calls in a sentence.
const NAMED: usize = 4;
/// The most characters of each call.
const CALL: usize = 100;
/// The most characters of an id. A prefix is enough.
const LONGEST_ID: usize = 200;

/// The complete command that resumes a turn, quoted for a shell. A file that was named selects nothing by itself: its
/// settings are in the command, so that the user can judge them.
pub(crate) fn command(
    summary: &TurnSummary,
    chat_note: Option<&ChatNote>,
    place: &StorageLocation,
) -> String {
    let mut options = place.option();
    if let Some(chat_note) = chat_note.filter(|_| place.is_named()) {
        if !chat_note.partial && is_address(&chat_note.server) {
            options.push_str(&format!(" --base-url {}", shell_word(&chat_note.server)));
        }
        if !is_here(&chat_note.folder) {
            options.push_str(&format!(" --folder {}", shell_path(&chat_note.folder)));
        }
        if let Some(system) = &chat_note.system {
            // As one word: a text may begin with a dash.
            options.push_str(&format!(" --system={}", shell_word(system)));
        }
        options.push_str(&naming(&chat_note.tools));
    }
    let id: String = summary.id().chars().take(LONGEST_ID).collect();
    match id.starts_with('-') {
        true => format!("turnwright turns resume{options} -- {}", shell_word(&id)),
        false => format!("turnwright turns resume {}{options}", shell_word(&id)),
    }
}

/// Whether a folder is the current one.
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

/// Rejects a resume that would lose something for good, before anything happens. `missing` are tool files of its chat that
/// were not named; `None` if no chat has held it.
pub(crate) async fn check(
    storage: &Storage,
    summary: &TurnSummary,
    missing: Option<&[PathBuf]>,
    options: &args::ResumeOptions,
    attended: bool,
) -> anyhow::Result<()> {
    if !summary.is_resumable() {
        return Ok(());
    }
    let Some(missing) = missing.or(options.without_tools.then_some(&[])) else {
        anyhow::bail!(
            "no chat of this program has held this turn: the program that did takes it up again, with its own tools. \
             `--without-tools` goes on with those that are here, for good. Nothing has happened yet"
        );
    };
    if !missing.is_empty() && !options.without_tools {
        let files: Vec<String> = missing.iter().map(|file| shell_path(file)).collect();
        anyhow::bail!(
            "its chat had the tools of {}: say `{}` to have them again, or `--without-tools` to go on without them. Nothing \
             has happened yet",
            files.join(" and "),
            naming(missing).trim_start()
        );
    }
    if attended || options.tell_model {
        return Ok(());
    }
    let doubts = doubts(storage, summary).await?;
    if doubts.is_empty() {
        return Ok(());
    }
    anyhow::bail!(
        "nobody knows whether {} took effect, and there is no terminal to ask at. Take the turn up at one; or say \
         `--tell-model`, and the model is told that nobody knows, for good. Nothing has happened yet",
        in_words(&doubts)
    )
}

/// The calls of a turn that started and did not end.
pub(super) async fn doubts(
    storage: &Storage,
    summary: &TurnSummary,
) -> anyhow::Result<Vec<Arc<LedgerEntry>>> {
    // A ledger entry belongs to the turn by its id, wherever it is.
    let query = Query::all().kind(RecordKind::Ledger);
    let loaded = storage.store.load(&summary.conversation_id, &query).await;
    let loaded = loaded.map_err(|error| storage.explain(error))?;
    let lines = loaded.into_records().filter_map(|record| match record {
        Record::Ledger(line) => Some(line),
        _ => None,
    });
    Ok(lines
        .filter(|line| line.turn_id() == summary.id() && line.state() == CallState::Begun)
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

/// The lease of a conversation that another process may hold.
pub(crate) struct LeaseStatus {
    /// The time left, as observed by this process.
    pub(crate) left: Option<Duration>,
    /// Whether it is valid by the wall clock.
    pub(crate) seems_held: bool,
    /// Changes whenever the holder renews its lease.
    pub(crate) renewals: Option<(u64, u64)>,
}

/// Reads the lease of a conversation, for `turn` if one is given. A damaged lease counts as absent: the store checks the
/// fencing token.
pub(crate) async fn lease_status(
    storage: &Storage,
    conversation_id: &ConversationId,
    turn: Option<&str>,
) -> anyhow::Result<LeaseStatus> {
    let query = Query::all().kind(RecordKind::Lease).ids([Lease::ID]);
    let loaded = storage.store.load(conversation_id, &query).await;
    let loaded = loaded.map_err(|error| storage.explain(error))?;
    let lease = loaded.into_records().find_map(Record::into_lease);
    let lease = lease.filter(|lease| turn.is_none() || lease.turn_id() == turn);
    let lease = lease.as_deref();
    Ok(LeaseStatus {
        left: lease.and_then(|lease| observe_lease(conversation_id, lease)),
        seems_held: lease.is_some_and(|lease| lease.estimated_left().is_some()),
        renewals: lease.map(|lease| (lease.fencing_token(), lease.renewals())),
    })
}

/// What to do if another process holds a conversation and is alive.
#[derive(Clone, Copy)]
pub(crate) enum IfHeld<'h> {
    /// Fail at once, with advice.
    Fail(&'h str),
    /// Wait until the process releases it.
    Wait,
    /// Stop waiting.
    GoOn,
}

/// Waits until no process holds a conversation, or this turn of it. A process that renews its lease is alive.
pub(crate) async fn wait_until_free(
    storage: &Storage,
    conversation_id: &ConversationId,
    turn: Option<&str>,
    if_held: IfHeld<'_>,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let mut first = None;
    loop {
        let lease_status = lease_status(storage, conversation_id, turn).await?;
        let Some(left) = lease_status.left else {
            screen.rest();
            return Ok(());
        };
        let renewed = *first.get_or_insert(lease_status.renewals) != lease_status.renewals;
        match if_held {
            IfHeld::Fail(advice) if lease_status.seems_held || renewed => {
                return Err(held(conversation_id, left, advice));
            }
            IfHeld::GoOn if renewed => return Ok(()),
            _ => {}
        }
        screen.busy(&waiting(left));
        tokio::time::sleep(POLL_INTERVAL.min(left)).await;
    }
}

/// The progress message while a lease of a process that may have crashed expires.
pub(super) fn waiting(left: Duration) -> String {
    let seconds = left.as_secs().saturating_add(1);
    format!(
        "waiting up to {seconds} s: another process has this conversation, or crashed while it did"
    )
}

/// The error if another program holds a conversation. The same command may succeed later.
pub(super) fn held(conversation_id: &ConversationId, left: Duration, helps: &str) -> anyhow::Error {
    let seconds = left.as_secs().saturating_add(1);
    let s = if seconds == 1 { "" } else { "s" };
    anyhow::anyhow!(
        "another program has the conversation {}: for {seconds} second{s} more if it has crashed, else until its turn ends. \
         {helps}",
        one_line(conversation_id.as_str(), 64)
    )
}
