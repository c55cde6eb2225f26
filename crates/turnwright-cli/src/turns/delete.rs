//! `turnwright turns delete`: deletes records and the bytes of their results.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use turnwright::prelude::*;
use turnwright::record::{Record, RecordKind};
use turnwright::sqlite::{Retention, SqliteError, SqliteErrorKind};
use turnwright::store::{Batch, ConversationId, Query, StoreError};

use super::find::find;
use super::resume_check::{IfHeld, unfinished, wait_until_free, waiting};
use super::summary::{TurnSummary, all_conversations, conversation_ids_of, no_conversation};
use crate::args;
use crate::exit::{Exit, misuse};
use crate::storage::{ChatLock, ConversationPart, Storage, check_name};
use crate::terminal::{Screen, confirm, one_line};
use crate::units::{listed, plural, size};

/// A result is in the spool a moment before its record is stored. An unnamed result that is younger than this stays.
const GRACE: Duration = Duration::from_secs(60 * 60);
/// Another process must not hold what is deleted.
const FAIL_IF_HELD: IfHeld<'_> = IfHeld::Fail("Delete it after that");
const UNFINISHED: &str =
    "It contains a call that was interrupted, and whether that call took effect is unknown.";

/// What was deleted.
#[derive(Default)]
struct Deleted {
    conversations: Vec<ConversationId>,
    /// Those that stay because they contain a call that has not ended.
    stay: Vec<ConversationId>,
    /// Those that stay because chats have them open.
    open: Vec<ConversationId>,
    records: u64,
    bytes: u64,
    /// Whether another process reads the file as it was.
    still_read: bool,
}

pub(super) async fn run(options: &args::TurnsDelete, mut screen: Screen) -> anyhow::Result<Exit> {
    screen.busy("opening the database");
    let storage = Storage::open_to_delete(&options.storage).await?;
    let target = Target::of(options, &storage, &mut screen).await?;
    let has_unfinished = target.has_unfinished(&storage).await;
    if !options.yes && !confirmed(&mut screen, &target.description, has_unfinished).await? {
        screen.line("Nothing was deleted.")?;
        return Ok(Exit::No);
    }
    let deleted = target.delete(&storage, &mut screen).await?;
    deleted.show(&mut screen)?;
    if options.yes && has_unfinished {
        screen.warn(UNFINISHED)?;
    }
    // Also results that crashes left in the spool, once no record can refer to them.
    if storage.has_results {
        storage.store.delete_orphans(GRACE).await?;
    }
    storage.store.close().await?;
    Ok(Exit::Done)
}

/// What is to be deleted: a turn, conversations, or what retention finds.
#[derive(Default)]
struct Target {
    description: String,
    conversations: Vec<ConversationId>,
    /// The only turn of the conversation that is deleted.
    turn: Option<TurnSummary>,
    retention: Option<Retention>,
}

impl Target {
    async fn of(
        options: &args::TurnsDelete,
        storage: &Storage,
        screen: &mut Screen,
    ) -> anyhow::Result<Self> {
        if let Some(turn) = &options.turn {
            let summary = find(storage, turn).await?;
            let (conversation_id, turn) = (&summary.conversation_id, Some(summary.id()));
            wait_until_free(storage, conversation_id, turn, FAIL_IF_HELD, screen).await?;
            let (id, name) = (one_line(summary.id(), 64), shown(conversation_id));
            return Ok(Target {
                description: format!("the turn {id} of {name}"),
                conversations: vec![conversation_id.clone()],
                turn: Some(summary),
                retention: None,
            });
        }
        if let Some(name) = &options.conversation {
            // Does not read records: damaged ones can be deleted.
            let all = all_conversations(storage).await?;
            let mut conversations = conversation_ids_of(storage, name).await?;
            conversations.retain(|conversation_id| all.contains(conversation_id));
            for conversation_id in &conversations {
                wait_until_free(storage, conversation_id, None, FAIL_IF_HELD, screen).await?;
            }
            let s = match conversations.len() {
                0 => return Err(no_conversation(storage, name)),
                1 => "",
                _ => "s",
            };
            return Ok(Target {
                description: format!("the conversation{s} {}", names(&conversations)),
                conversations,
                ..Target::default()
            });
        }
        let (mut retention, mut words) = (Retention::default(), Vec::new());
        if let Some(age) = options.older_than {
            retention = retention.max_age(age);
            let days = age.as_secs_f64() / 86_400.0;
            words.push(format!(
                "all conversations without activity for {days:.1} days"
            ));
        }
        if let Some(bytes) = options.larger_than {
            retention = retention.max_bytes(bytes);
            let bytes = size(bytes);
            words.push(format!(
                "the oldest conversations until the database has at most {bytes}"
            ));
        }
        Ok(Target {
            description: words.join(", and "),
            retention: Some(retention),
            ..Target::default()
        })
    }

    /// Whether it contains a call that has not ended. Unreadable records do not count.
    async fn has_unfinished(&self, storage: &Storage) -> bool {
        let turn = self.turn.as_ref().map(TurnSummary::id);
        for conversation_id in &self.conversations {
            let calls = unfinished(storage, conversation_id, turn).await;
            if calls.is_ok_and(|calls| !calls.is_empty()) {
                return true;
            }
        }
        false
    }

    async fn delete(self, storage: &Storage, screen: &mut Screen) -> anyhow::Result<Deleted> {
        if let Some(summary) = &self.turn {
            return delete_turn(storage, summary).await;
        }
        let mut deleted = Deleted::default();
        for conversation_id in &self.conversations {
            delete_conversation(storage, conversation_id, &mut deleted, screen).await?;
        }
        let Some(retention) = self.retention else {
            return Ok(deleted);
        };
        // Conversations that are open in a chat stay, however old or large they are.
        for name in ChatLock::all_taken(storage)? {
            let open = conversation_ids_of(storage, &name).await?;
            deleted.open.extend(open);
        }
        let retention = retention.except(deleted.open.iter().cloned());
        if let Some(left) = deleted.apply(storage, &retention).await? {
            // Again, when it is known which of the processes have ended.
            screen.busy(&waiting(left));
            tokio::time::sleep(left).await;
            screen.rest();
            deleted.apply(storage, &retention).await?;
        }
        Ok(deleted)
    }
}

async fn delete_conversation(
    storage: &Storage,
    conversation_id: &ConversationId,
    deleted: &mut Deleted,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let name = ConversationPart::named(conversation_id.as_str()).name;
    // A conversation of another program has no chat.
    let mut lock = None;
    if check_name(&name).is_ok() {
        lock = ChatLock::take(storage, &name)?;
        // The same command may succeed later.
        anyhow::ensure!(
            lock.is_some(),
            "the conversation {name} is open in a chat. Exit the chat first"
        );
    }
    wait_until_free(storage, conversation_id, None, FAIL_IF_HELD, screen).await?;
    let done = storage.store.delete_conversation(conversation_id).await;
    let done = done.map_err(|error| explain(error, storage))?;
    deleted.conversations.push(conversation_id.clone());
    deleted.records += done.records;
    deleted.bytes += done.bytes;
    deleted.still_read |= done.still_read;
    drop(lock);
    delete_history(storage, conversation_id).await
}

/// Deletes the input history of a conversation once nothing is left of it, unless a chat has it open.
async fn delete_history(storage: &Storage, conversation_id: &ConversationId) -> anyhow::Result<()> {
    let name = ConversationPart::named(conversation_id.as_str()).name;
    if check_name(&name).is_err() || !conversation_ids_of(storage, &name).await?.is_empty() {
        return Ok(());
    }
    if let Some(lock) = ChatLock::take(storage, &name)? {
        lock.clear()?;
    }
    Ok(())
}

/// Deletes a turn from its conversation. A process that runs it all the same loses its lease.
async fn delete_turn(storage: &Storage, summary: &TurnSummary) -> anyhow::Result<Deleted> {
    let mut deleted = Deleted::default();
    let mut spooled = BTreeMap::new();
    let all = Query::all();
    let update = storage
        .store
        .update(&summary.conversation_id, &all, |loaded| {
            deleted = Deleted::default();
            spooled.clear();
            let mut batch = Batch::new();
            for stored in &loaded.records {
                let record = &stored.record;
                if let Record::Lease(lease) = record
                    && lease.turn_id.as_deref() == Some(summary.id())
                {
                    batch = batch.fencing_token(lease.fencing_token.saturating_add(1));
                }
                if is_of_conversation(record.kind()) || !summary.contains(stored.position) {
                    continue;
                }
                let artifacts = record.artifacts().iter();
                let artifacts =
                    artifacts.map(|artifact| (artifact.spool_id(), artifact.byte_length()));
                let media = record.media().iter();
                let media = media.map(|media| (media.spool_id(), media.byte_length().unwrap_or(0)));
                for (id, length) in artifacts.chain(media) {
                    spooled.extend(id.map(|id| (id.to_owned(), length)));
                }
                deleted.records += 1;
                let value = record.to_value();
                deleted.bytes += value.map_or(0, |value| value.to_string().len() as u64);
                batch = batch.delete(record.kind(), record.id());
            }
            for damaged in &loaded.damaged {
                let kind = damaged.kind.filter(|kind| !is_of_conversation(*kind));
                if let Some(kind) = kind.filter(|_| summary.contains(damaged.position)) {
                    // Its bytes in the spool are found by the sweep later.
                    deleted.records += 1;
                    batch = batch.delete(kind, &*damaged.id);
                }
            }
            if spooled.is_empty() || storage.has_results {
                batch
            } else {
                Batch::new()
            }
        });
    update.await?;
    if !spooled.is_empty() && !storage.has_results {
        return Err(results_elsewhere(storage));
    }
    deleted.bytes += delete_bytes(storage, spooled).await?;
    Ok(deleted)
}

/// Whether records of a kind belong to the conversation and not to its turns.
fn is_of_conversation(kind: RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Lease
            | RecordKind::Memory
            | RecordKind::Instruction
            | RecordKind::ConversationInfo
    )
}

/// Deletes results that no record names any more, and returns the number of bytes.
async fn delete_bytes(
    storage: &Storage,
    mut spooled: BTreeMap<String, u64>,
) -> anyhow::Result<u64> {
    if spooled.is_empty() {
        return Ok(0);
    }
    let query = Query::all()
        .kind(RecordKind::ToolCall)
        .kind(RecordKind::Retrievable)
        .kind(RecordKind::Message);
    for conversation_id in all_conversations(storage).await? {
        let mut pages = storage.store.pages(&conversation_id, query.clone());
        while let Some(page) = pages.next().await? {
            if !page.damaged.is_empty() {
                // It may name any of them: the sweep decides.
                return Ok(0);
            }
            for record in page.into_records() {
                for id in record.spool_ids() {
                    spooled.remove(id);
                }
            }
        }
    }
    let mut bytes = 0;
    for (id, length) in spooled {
        if storage.spool.delete(&id).await? {
            bytes += length;
        }
    }
    Ok(bytes)
}

fn shown(conversation_id: &ConversationId) -> String {
    one_line(conversation_id.as_str(), 64)
}

fn names(conversation_ids: &[ConversationId]) -> String {
    listed(conversation_ids.iter().map(shown), usize::MAX)
}

async fn confirmed(screen: &mut Screen, what: &str, has_unfinished: bool) -> anyhow::Result<bool> {
    if !screen.is_interactive() {
        return Err(misuse(
            "there is no terminal to ask for confirmation. Use `--yes` to delete without asking",
        ));
    }
    screen.warn(format!("This deletes {what}, with all results."))?;
    if has_unfinished {
        screen.warn(UNFINISHED)?;
    }
    confirm("  yes or no? ").await
}

impl Deleted {
    /// Deletes what exceeds the limits. Returns when to try again, if processes may hold some of it.
    async fn apply(
        &mut self,
        storage: &Storage,
        retention: &Retention,
    ) -> anyhow::Result<Option<Duration>> {
        let done = storage.store.apply_retention(retention).await;
        let done = done.map_err(|error| explain(error, storage))?;
        for conversation_id in &done.conversations {
            delete_history(storage, conversation_id).await?;
        }
        self.conversations.extend(done.conversations);
        self.stay = done.unfinished;
        self.records += done.deleted.records;
        self.bytes += done.deleted.bytes;
        self.still_read |= done.deleted.still_read;
        Ok(done.retry_after)
    }

    fn show(&self, screen: &mut Screen) -> anyhow::Result<()> {
        let ids = |conversation_ids: &[ConversationId]| -> Vec<String> {
            conversation_ids.iter().map(ToString::to_string).collect()
        };
        screen.value(&json!({
            "conversations": ids(&self.conversations),
            "unfinished": ids(&self.stay),
            "open": ids(&self.open),
            "stillRead": self.still_read,
            "records": self.records,
            "bytes": self.bytes,
        }))?;
        let records = plural(self.records, "record");
        let mut text = format!("Deleted {records}, {}", size(self.bytes));
        if !self.conversations.is_empty() {
            text.push_str(&format!(": {}", names(&self.conversations)));
        }
        screen.paragraph(anstyle::Style::new(), "", &text)?;
        if self.still_read {
            screen.warn("Another process is still reading the database, so the deleted text is still in the file. It is removed at the next write after that process has ended.")?;
        }
        if !self.open.is_empty() {
            let open = names(&self.open);
            screen.warn(format!("Skipped, because they are open in a chat: {open}."))?;
        }
        if !self.stay.is_empty() {
            screen.warn(format!(
                "Not deleted, because they contain an interrupted call or a process runs them: {}. See `turnwright turns list`.",
                names(&self.stay)
            ))?;
        }
        Ok(())
    }
}

/// Explains that the results are not where the store looks for them. Other errors stay as they are.
fn explain(error: StoreError, storage: &Storage) -> anyhow::Error {
    match SqliteError::of(&error).map(SqliteError::kind) {
        Some(SqliteErrorKind::Invalid) if !storage.has_results => results_elsewhere(storage),
        _ => error.into(),
    }
}

fn results_elsewhere(storage: &Storage) -> anyhow::Error {
    misuse(format!(
        "the results of this are not next to `{}`. Pass their directory with `--results DIR`. Nothing was deleted",
        storage.place.file.display()
    ))
}
