//! `turnwright turns delete`: what is deleted is gone, bytes too.

mod obstacles;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use turnwright::prelude::*;
use turnwright::record::CallState;
use turnwright::sqlite::Retention;
use turnwright::store::{Batch, ConversationFilter, ConversationId, Query};
use turnwright::{Record, RecordKind};

use super::find::find;
use super::resume_check::{IfHeld, wait_until_free, waiting};
use super::summary::{TurnSummary, conversation_ids_of};
use crate::args;
use crate::exit::{Exit, misuse};
use crate::storage::{ChatLock, ConversationPart, Storage, StorageLocation, check_name};
use crate::terminal::{Editor, Screen, Typed, one_line, style};
use crate::units::{count, size};
use obstacles::{THEN, explain, open_in_chat, open_in_chats, results_elsewhere};

/// A result is in the spool a moment before its record is stored: so long nobody doubts that it is wanted.
const GRACE: Duration = Duration::from_secs(60 * 60);

/// What went.
#[derive(Default)]
struct Gone {
    conversations: Vec<ConversationId>,
    /// Those that were to go and stay, since nobody knows yet what became of a call in them.
    stay: Vec<ConversationId>,
    records: u64,
    bytes: u64,
    /// Somebody else reads the file as it was.
    still_read: bool,
    /// Those that chats have open: they were passed over.
    open: Vec<ConversationId>,
}

pub(super) async fn run(options: &args::TurnsDelete, mut screen: Screen) -> anyhow::Result<Exit> {
    let place = StorageLocation::of(&options.storage)?;
    let Some(storage) = Storage::open_to_delete(place).await? else {
        return Err(misuse("nothing is kept yet, so there is nothing to delete"));
    };
    let what = What::of(options, &storage, &mut screen).await?;
    let doubts = what.doubts(&storage).await;
    if !options.yes && !asked(&mut screen, &what.question(), doubts).await? {
        screen.line("Nothing was deleted.")?;
        return Ok(Exit::No);
    }
    let gone = what.delete(&storage, &mut screen).await?;
    gone.tell(&mut screen)?;
    if options.yes && doubts && !screen.is_json() {
        screen.paragraph(style::CARE, "", DOUBTS)?;
    }
    // What crashes left in the spool goes too, once it is known that nobody needs it.
    if storage.has_results {
        let swept = storage.store.delete_orphans(GRACE).await;
        swept.map_err(|error| storage.explain(error))?;
    }
    storage.close().await?;
    Ok(Exit::Done)
}

/// Said where what was begun cannot be found out any more.
const DOUBTS: &str = "Nobody knows yet what became of a call in it.";

/// What is to be deleted.
enum What {
    Turn(Box<TurnSummary>),
    Conversation(Vec<ConversationId>),
    Old(Retention, String),
}

impl What {
    async fn of(
        options: &args::TurnsDelete,
        storage: &Storage,
        screen: &mut Screen,
    ) -> anyhow::Result<Self> {
        if let Some(turn) = &options.turn {
            let summary = find(storage, turn).await?;
            wait_until_free(
                storage,
                &summary.conversation_id,
                Some(summary.id()),
                IfHeld::Fail(THEN),
                screen,
            )
            .await?;
            return Ok(What::Turn(Box::new(summary)));
        }
        if let Some(name) = &options.conversation {
            // Nothing of it is read: what cannot be read can be deleted.
            let all = storage
                .store
                .conversations(&ConversationFilter::all())
                .await;
            let all = all.map_err(|error| storage.explain(error))?;
            let mut there = conversation_ids_of(storage, name).await?;
            there.retain(|conversation_id| all.contains(conversation_id));
            for conversation_id in &there {
                wait_until_free(storage, conversation_id, None, IfHeld::Fail(THEN), screen).await?;
            }
            return match there.is_empty() {
                false => Ok(What::Conversation(there)),
                true => Err(misuse(format!(
                    "there is no conversation `{}`; `turnwright turns list{}` shows which there are",
                    one_line(name, 64),
                    storage.place.option()
                ))),
            };
        }
        let (mut retention, mut words) = (Retention::default(), Vec::new());
        if let Some(age) = options.older_than {
            retention = retention.max_age(age.0);
            let days = age.0.as_secs_f64() / 86_400.0;
            words.push(format!(
                "all conversations in which nothing was written for {days:.1} days"
            ));
        }
        if let Some(bytes) = options.larger_than {
            retention = retention.max_bytes(bytes.0);
            let bytes = size(bytes.0);
            words.push(format!(
                "the oldest conversations until no more than {bytes} are kept"
            ));
        }
        Ok(What::Old(retention, words.join(", and ")))
    }

    /// Whether it holds a call of which nobody knows yet what became of it. What cannot be read says nothing.
    async fn doubts(&self, storage: &Storage) -> bool {
        let (conversation_ids, turn) = match self {
            What::Turn(summary) => (
                std::slice::from_ref(&summary.conversation_id),
                Some(summary.id()),
            ),
            What::Conversation(conversation_ids) => (conversation_ids.as_slice(), None),
            // These stay, and that is said.
            What::Old(..) => return false,
        };
        for conversation_id in conversation_ids {
            let query = Query::all().kind(RecordKind::Ledger);
            let Ok(loaded) = storage.store.load(conversation_id, &query).await else {
                continue;
            };
            let in_doubt = |record: Record| match record {
                Record::Ledger(line) => {
                    line.state() == CallState::Begun
                        && turn.is_none_or(|item| line.turn_id() == item)
                }
                _ => false,
            };
            if loaded.into_records().any(in_doubt) {
                return true;
            }
        }
        false
    }

    fn question(&self) -> String {
        match self {
            What::Turn(summary) => {
                let (id, conversation_id) = (
                    one_line(summary.id(), 64),
                    one_line(summary.conversation_id.as_str(), 64),
                );
                format!("the turn {id} of {conversation_id}")
            }
            What::Conversation(conversation_ids) => {
                let s = if conversation_ids.len() == 1 { "" } else { "s" };
                format!("the conversation{s} {}", names(conversation_ids))
            }
            What::Old(_, words) => words.clone(),
        }
    }

    async fn delete(&self, storage: &Storage, screen: &mut Screen) -> anyhow::Result<Gone> {
        match self {
            What::Turn(summary) => delete_turn(storage, summary).await,
            What::Conversation(conversation_ids) => {
                let mut gone = Gone::default();
                for conversation_id in conversation_ids {
                    delete_conversation(storage, conversation_id, &mut gone, screen).await?;
                }
                Ok(gone)
            }
            What::Old(retention, _) => {
                let open = open_in_chats(storage).await?;
                let retention = retention.clone().except(open.iter().cloned());
                let mut gone = Gone {
                    open,
                    ..Gone::default()
                };
                let retry_after = gone.retain(storage, &retention).await?;
                if let Some(left) = retry_after {
                    // Once more when it can be told which of the processes that held them are gone.
                    screen.busy(&waiting(left));
                    tokio::time::sleep(left).await;
                    screen.rest();
                    gone.retain(storage, &retention).await?;
                }
                Ok(gone)
            }
        }
    }
}

async fn delete_conversation(
    storage: &Storage,
    conversation_id: &ConversationId,
    gone: &mut Gone,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let name = ConversationPart::named(conversation_id.as_str()).name;
    // A conversation of another program has no chat.
    let desk = match check_name(&name) {
        Ok(()) => Some(ChatLock::take(storage, &name)?.ok_or_else(|| open_in_chat(&name))?),
        Err(_) => None,
    };
    wait_until_free(storage, conversation_id, None, IfHeld::Fail(THEN), screen).await?;
    let done = storage.store.delete_conversation(conversation_id).await;
    let done = done.map_err(|error| explain(error, storage))?;
    gone.conversations.push(conversation_id.clone());
    gone.records += done.records;
    gone.bytes += done.bytes;
    gone.still_read |= done.still_read;
    drop(desk);
    forget_typed(storage, conversation_id).await
}

/// Forgets what was typed in a conversation once nothing is left of it. A chat that has it open keeps it.
async fn forget_typed(storage: &Storage, conversation_id: &ConversationId) -> anyhow::Result<()> {
    let name = ConversationPart::named(conversation_id.as_str()).name;
    if check_name(&name).is_err() || !conversation_ids_of(storage, &name).await?.is_empty() {
        return Ok(());
    }
    if let Some(desk) = ChatLock::take(storage, &name)? {
        desk.clear()?;
    }
    Ok(())
}

/// Deletes a turn out of its conversation. A process that runs it all the same is cut off.
async fn delete_turn(storage: &Storage, summary: &TurnSummary) -> anyhow::Result<Gone> {
    let mut gone = Gone::default();
    let mut spooled = BTreeMap::new();
    let all = Query::all();
    let deleted = storage
        .store
        .update(&summary.conversation_id, &all, |loaded| {
            gone = Gone::default();
            spooled.clear();
            let mut batch = Batch::new();
            for stored in &loaded.records {
                let record = &stored.record;
                match record {
                    Record::Lease(lease) => {
                        if lease.turn_id() == Some(summary.id()) {
                            batch = batch.fencing_token(lease.fencing_token().saturating_add(1));
                        }
                        continue;
                    }
                    // Noted about the conversation, and none of the turn's.
                    Record::Memory(_) | Record::Instruction(_) => continue,
                    _ if !summary.holds(stored.position) => continue,
                    _ => {}
                }
                for artifact in record.artifacts() {
                    let id = artifact.spool_id().map(str::to_owned);
                    spooled.extend(id.map(|id| (id, artifact.byte_length())));
                }
                for media in record.media() {
                    let id = media.spool_id().map(str::to_owned);
                    spooled.extend(id.map(|id| (id, media.byte_length().unwrap_or(0))));
                }
                gone.records += 1;
                gone.bytes += record
                    .to_value()
                    .map_or(0, |item| item.to_string().len() as u64);
                batch = batch.delete(record.kind(), record.id());
            }
            for damaged in &loaded.damaged {
                let kind = damaged.kind.filter(|kind| !stays(*kind));
                if let Some(kind) = kind.filter(|_| summary.holds(damaged.position)) {
                    // What the spool keeps for it is swept later.
                    gone.records += 1;
                    batch = batch.delete(kind, &*damaged.id);
                }
            }
            match !spooled.is_empty() && !storage.has_results {
                true => Batch::new(),
                false => batch,
            }
        });
    deleted.await.map_err(|error| storage.explain(error))?;
    if !spooled.is_empty() && !storage.has_results {
        return Err(results_elsewhere(storage));
    }
    gone.bytes += delete_bytes(storage, spooled).await?;
    Ok(gone)
}

/// Whether records of a kind are the conversation's, and none of its turns'.
fn stays(kind: RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Lease | RecordKind::Memory | RecordKind::Instruction
    )
}

/// Deletes results that no record names any more. How many bytes.
async fn delete_bytes(
    storage: &Storage,
    mut spooled: BTreeMap<String, u64>,
) -> anyhow::Result<u64> {
    if spooled.is_empty() {
        return Ok(0);
    }
    let conversation_ids = storage
        .store
        .conversations(&ConversationFilter::all())
        .await;
    let query = Query::all().kind(RecordKind::ToolCall);
    let query = query
        .kind(RecordKind::Retrievable)
        .kind(RecordKind::Message);
    for conversation_id in conversation_ids.map_err(|error| storage.explain(error))? {
        let mut pages = storage.store.pages(&conversation_id, query.clone());
        while let Some(stored) = pages.next().await {
            let record = match stored {
                Ok(stored) => stored.record,
                // It may name any of them: the sweep knows better.
                Err(error) if error.damaged_record().is_some() => return Ok(0),
                Err(error) => return Err(storage.explain(error)),
            };
            for id in record.spool_ids() {
                spooled.remove(id);
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

fn names(conversation_ids: &[ConversationId]) -> String {
    let names: Vec<String> = conversation_ids
        .iter()
        .map(|item| one_line(item.as_str(), 64))
        .collect();
    names.join(", ")
}

/// Asks whoever sits at the terminal.
async fn asked(screen: &mut Screen, what: &str, doubts: bool) -> anyhow::Result<bool> {
    if !screen.is_attended() {
        return Err(misuse(
            "there is no terminal to ask at: `--yes` deletes without asking",
        ));
    }
    screen.paragraph(
        style::CARE,
        "",
        &format!("Deletes {what}, with the results that are kept for it."),
    )?;
    if doubts {
        screen.paragraph(style::CARE, "", DOUBTS)?;
    }
    let editor = Editor::open(None)?;
    match editor.answer("  yes or no? ", "").await {
        Typed::Line(line) => Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes")),
        Typed::Interrupted | Typed::Ended => Ok(false),
    }
}

impl Gone {
    /// Deletes what is beyond bounds. When to try again, if processes may hold some of it.
    async fn retain(
        &mut self,
        storage: &Storage,
        retention: &Retention,
    ) -> anyhow::Result<Option<Duration>> {
        let done = storage.store.apply_retention(retention).await;
        let done = done.map_err(|error| explain(error, storage))?;
        for conversation_id in &done.conversations {
            forget_typed(storage, conversation_id).await?;
        }
        self.conversations.extend(done.conversations);
        self.stay = done.unfinished;
        self.records += done.deleted.records;
        self.bytes += done.deleted.bytes;
        self.still_read |= done.deleted.still_read;
        Ok(done.retry_after)
    }

    fn tell(&self, screen: &mut Screen) -> anyhow::Result<()> {
        if screen.is_json() {
            let names = |conversation_ids: &[ConversationId]| -> Vec<String> {
                conversation_ids.iter().map(ToString::to_string).collect()
            };
            return screen.value(&json!({
                "conversations": names(&self.conversations),
                "stay": names(&self.stay),
                "open": names(&self.open),
                "stillRead": self.still_read,
                "records": self.records,
                "bytes": self.bytes,
            }));
        }
        let s = if self.records == 1 { "" } else { "s" };
        let mut text = format!(
            "Deleted {} record{s}, {}",
            count(self.records),
            size(self.bytes)
        );
        if !self.conversations.is_empty() {
            text.push_str(": ");
            text.push_str(&names(&self.conversations));
        }
        screen.paragraph(anstyle::Style::new(), "", &text)?;
        if self.still_read {
            let text = "Another program reads the file as it was, so the text is still in it. It goes once that program has ended and something is deleted or said again.";
            screen.paragraph(style::CARE, "", text)?;
        }
        if !self.open.is_empty() {
            let open = names(&self.open);
            let text = format!("Passed over, since chats have them open: {open}.");
            screen.paragraph(style::CARE, "", &text)?;
        }
        if !self.stay.is_empty() {
            let text = format!(
                "These stay, since nobody knows yet what became of a call in them, or a program has them now: {}. `turns list` shows their turns.",
                names(&self.stay)
            );
            screen.paragraph(style::CARE, "", &text)?;
        }
        Ok(())
    }
}
