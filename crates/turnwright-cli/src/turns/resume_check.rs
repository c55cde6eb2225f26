//! Checks before a turn is resumed, and the command that resumes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use turnwright::record::RecordKind;
use turnwright::record::{CallState, Lease, LedgerEntry, Record};
use turnwright::store::{ConversationId, Query, Store as _, StoreError, observe_lease};

use super::summary::TurnSummary;
use crate::agent::is_address;
use crate::args;
use crate::storage::{ChatNote, Storage, StorageLocation};
use crate::terminal::{Screen, fit, json, one_line, shell_path, shell_word};
use crate::units::{ago, listed, plural};

/// The interval between two reads of a lease.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The most calls in a sentence.
const NAMED: usize = 4;
/// The most characters of each call.
const CALL: usize = 100;
/// The most characters of an id. A prefix is enough.
const MAX_ID_LEN: usize = 200;

/// The complete command that resumes a turn, quoted for a shell. A file that was named selects nothing by itself: its
/// settings are in the command, so that the user can judge them.
pub(crate) fn command(
    summary: &TurnSummary,
    chat_note: Option<&ChatNote>,
    place: &StorageLocation,
) -> String {
    let mut options = place.option();
    if let Some(chat_note) = chat_note.filter(|_| place.named) {
        if !chat_note.partial && is_address(&chat_note.server) {
            options.push_str(&format!(" --base-url {}", shell_word(&chat_note.server)));
        }
        let here = Path::new(".").canonicalize();
        if !here.is_ok_and(|here| here == chat_note.folder) {
            options.push_str(&format!(" --folder {}", shell_path(&chat_note.folder)));
        }
        if let Some(system) = &chat_note.system {
            // As one word: a text may begin with a dash.
            options.push_str(&format!(" --system={}", shell_word(system)));
        }
        options.push_str(&naming(&chat_note.tools));
        for file in &chat_note.mcp {
            options.push_str(&format!(" --mcp {}", shell_path(file)));
        }
    }
    let id: String = summary.id().chars().take(MAX_ID_LEN).collect();
    if id.starts_with('-') {
        format!("turnwright turns resume{options} -- {}", shell_word(&id))
    } else {
        format!("turnwright turns resume {}{options}", shell_word(&id))
    }
}

/// The options for these tools files.
fn naming(tools: &[PathBuf]) -> String {
    let option = |file: &PathBuf| format!(" --tools {}", shell_path(file));
    tools.iter().map(option).collect()
}

/// Rejects a resume that would lose something permanently, before anything happens. `missing` are tools files of its chat that
/// were not passed; `None` if the turn is not of a chat.
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
            "this turn belongs to another program. Resume it there, with the tools of that program, or use `--without-tools` to \
             continue with the tools of this one. Nothing was changed"
        );
    };
    if !missing.is_empty() && !options.without_tools {
        let files: Vec<String> = missing.iter().map(|file| shell_path(file)).collect();
        anyhow::bail!(
            "its chat had the tools of {}. Pass `{}` to use them again, or `--without-tools` to continue without them. Nothing \
             was changed",
            files.join(" and "),
            naming(missing).trim_start()
        );
    }
    if attended || options.tell_model {
        return Ok(());
    }
    let unfinished = unfinished(storage, &summary.conversation_id, Some(summary.id())).await?;
    if unfinished.is_empty() {
        return Ok(());
    }
    let calls = unfinished.iter().map(|entry| {
        let call = format!("{} {}", one_line(&entry.tool, 64), json(&entry.args));
        format!("`{}` (started {})", fit(&call, CALL), ago(entry.started_at))
    });
    anyhow::bail!(
        "it is unknown whether {} took effect, and there is no terminal to ask. Resume the turn at a terminal, or use \
         `--tell-model` to tell the model that the effect is unknown. Nothing was changed",
        listed(calls, NAMED)
    )
}

/// The calls of a conversation, or of one turn of it, that started and did not end. Damaged entries are left out.
pub(super) async fn unfinished(
    storage: &Storage,
    conversation_id: &ConversationId,
    turn: Option<&str>,
) -> Result<Vec<Arc<LedgerEntry>>, StoreError> {
    // A ledger entry belongs to the turn by its id, wherever it is.
    let query = Query::all().kind(RecordKind::Ledger);
    let loaded = storage.store.load(conversation_id, &query).await?;
    let entries = loaded
        .into_records()
        .filter_map(Record::downcast::<LedgerEntry>);
    let begun = entries.filter(|entry| entry.state == CallState::Started);
    Ok(begun
        .filter(|entry| turn.is_none_or(|turn| *entry.turn_id == *turn))
        .collect())
}

/// What to do if another process holds a conversation and is alive.
#[derive(Clone, Copy)]
pub(crate) enum IfHeld<'h> {
    /// Fail at once, with advice.
    Fail(&'h str),
    /// Wait until the process releases it.
    Wait,
    /// Stop waiting.
    Continue,
}

/// Waits until no process holds a conversation, or this turn of it. A process that renews its lease is alive.
pub(crate) async fn wait_until_free(
    storage: &Storage,
    conversation_id: &ConversationId,
    turn: Option<&str>,
    if_held: IfHeld<'_>,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let query = Query::all().kind(RecordKind::Lease).ids([Lease::ID]);
    let mut first = None;
    loop {
        // A damaged lease counts as absent: the store checks the fencing token.
        let loaded = storage.store.load(conversation_id, &query).await?;
        let lease = loaded.into_records().find_map(Record::downcast::<Lease>);
        let lease = lease.filter(|lease| turn.is_none() || lease.turn_id.as_deref() == turn);
        let Some((left, lease)) =
            lease.and_then(|lease| Some((observe_lease(conversation_id, &lease)?, lease)))
        else {
            screen.rest();
            return Ok(());
        };
        // Changes whenever the holder renews its lease.
        let renewals = (lease.fencing_token, lease.renewals);
        let renewed = *first.get_or_insert(renewals) != renewals;
        match if_held {
            IfHeld::Fail(advice) if renewed || lease.estimated_remaining().is_some() => {
                return Err(held(conversation_id, left, advice));
            }
            IfHeld::Continue if renewed => return Ok(()),
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
        "waiting up to {seconds} s: another process runs this conversation, or crashed while it did"
    )
}

/// The error if another process runs a conversation. The same command may succeed later.
pub(super) fn held(conversation_id: &ConversationId, left: Duration, helps: &str) -> anyhow::Error {
    let seconds = plural(left.as_secs().saturating_add(1), "second");
    anyhow::anyhow!(
        "another process runs the conversation {}: for {seconds} more if it has crashed, otherwise until its turn ends. \
         {helps}",
        one_line(conversation_id.as_str(), 64)
    )
}
