//! Loads the history of a conversation from its store.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::History;
use super::pages::Pages;
use crate::call::left_open;
use crate::error::Error;
use crate::event::Level;
use crate::record::{Author, CallState, Coverage, Record, RecordKind};
use crate::schema::escape;
use crate::store::{ConversationId, Position, Store, Stored};
use crate::tool::context::TurnContext;

/// Kinds that are loaded completely.
const STANDING: [RecordKind; 2] = [RecordKind::Instruction, RecordKind::Memory];
/// Kinds of which the newest part is loaded.
const TIMELINE: [RecordKind; 4] = [
    RecordKind::Retrievable,
    RecordKind::Message,
    RecordKind::Thought,
    RecordKind::ToolCall,
];

impl History {
    /// Loads the history into the turn. If the store fails, nothing is loaded.
    pub(crate) async fn hydrate(&self, ctx: &TurnContext) -> Result<(), Error> {
        let records = self.load(ctx, &**ctx.storage().store()).await?;
        ctx.records().hydrate(records);
        ctx.set_kinds();
        Ok(())
    }

    async fn load(&self, ctx: &TurnContext, store: &dyn Store) -> Result<Vec<Record>, Error> {
        let pages = Pages::new(store, self.page_size);
        // The conversation of a turn without one is new, so the store has nothing of it.
        let own = ctx.record_store().map(|_| ctx.conversation_id());
        let mut found = match own.or(ctx.wiring().about()) {
            Some(conversation_id) => self.conversation(ctx, conversation_id, &pages).await?,
            None => Vec::new(),
        };
        for conversation_id in self.memories_from.iter().filter_map(|from| from(ctx)) {
            found.extend(pages.all(&conversation_id, &[RecordKind::Memory]).await?);
        }
        ctx.warn_of(&pages.damaged.lock());
        Ok(found.into_iter().map(|one| one.record).collect())
    }

    /// Loads the history of a conversation.
    async fn conversation(
        &self,
        ctx: &TurnContext,
        conversation_id: &ConversationId,
        pages: &Pages<'_>,
    ) -> Result<Vec<Stored>, Error> {
        let standing: Vec<_> = STANDING
            .into_iter()
            .filter(|kind| self.wants(*kind))
            .collect();
        let mut found = pages.all(conversation_id, &standing).await?;
        found.extend(self.timeline(ctx, conversation_id, pages).await?);
        found.sort_by_key(|one| one.position);
        close_open_calls(&mut found, pages, conversation_id).await?;
        Ok(found)
    }

    /// Loads the newest part of the timeline.
    async fn timeline(
        &self,
        ctx: &TurnContext,
        conversation_id: &ConversationId,
        pages: &Pages<'_>,
    ) -> Result<Vec<Stored>, Error> {
        let wanted = |kind: &RecordKind| self.wants(*kind);
        if self.last == 0 || self.max_records == 0 || !TIMELINE.iter().any(wanted) {
            return Ok(Vec::new());
        }
        // Messages are always read, because they determine where to cut.
        let kinds: Vec<RecordKind> = TIMELINE
            .into_iter()
            .filter(|kind| *kind == RecordKind::Message || self.wants(*kind))
            .collect();
        let mut window = Window::new(ctx, self.last, self.max_records);
        if window.cut.is_none() {
            pages
                .read_back(conversation_id, &kinds, None, |page, _| {
                    window.push(page);
                    window.cut.is_none()
                })
                .await?;
        }
        let mut records = window.records;
        match window.cut {
            Some(Cut::At(count)) => records.truncate(count),
            Some(Cut::Inside(place)) => {
                records.extend(opening(conversation_id, pages, place).await?);
            }
            Some(Cut::Summary(opening)) => {
                let wanted = opening.filter(|id| !window.here.contains(&message(id)));
                if let Some(id) = wanted {
                    let found = pages.get(conversation_id, RecordKind::Message, &id);
                    records.extend(found.await?);
                }
            }
            None => {}
        }
        records.extend(window.summary);
        records.retain(|one| self.wants(one.record.kind()));
        Ok(records)
    }
}

impl TurnContext {
    /// Sets the kinds of loaded artifacts that the turn's tools know and the store does not. Returns the names of kinds that
    /// neither knows.
    fn set_kinds(&self) -> BTreeSet<String> {
        let unknown = self.journal().records().of_unknown_kinds();
        if unknown.is_empty() {
            return BTreeSet::new();
        }
        let tools = self.tools();
        let set = |record: Record| record.with_kinds(|name| tools.kind_named(name));
        let known: Vec<Record> = unknown.into_iter().map(set).collect();
        self.journal().replace(&known);
        let artifacts = known.iter().flat_map(Record::artifacts);
        let names = artifacts.filter_map(|one| one.unknown_kind());
        names.map(str::to_owned).collect()
    }

    /// Sets the kinds of artifacts, also those of tools that layers have added, and warns of those that remain unknown.
    pub(crate) fn set_kinds_or_warn(&self) {
        for name in self.set_kinds() {
            let name = escape(&name, 80);
            self.log(Level::Warn, format!(
                "artifacts of the kind `{name}` are read as text, because neither a tool of the runner nor the store knows \
                 this kind: set `artifact_kind` of the tool that returns them, or register it with `ByteResolver::kind` when \
                 the store is opened"
            ));
        }
    }
}

fn message(id: &str) -> (RecordKind, String) {
    (RecordKind::Message, id.to_owned())
}

/// The part of the timeline that is loaded, while it is read backwards.
struct Window {
    /// Newest first.
    records: Vec<Stored>,
    cut: Option<Cut>,
    /// What the turn already has.
    here: HashSet<(RecordKind, String)>,
    exchanges_left: usize,
    most: usize,
    /// The number of records at the last message that starts an exchange.
    complete: usize,
    /// What the newest summary covers.
    covers: Option<Coverage>,
    /// The newest summary, if the turn does not have it.
    summary: Option<Stored>,
}

/// Where older records were omitted.
enum Cut {
    /// After this many records.
    At(usize),
    /// Within an exchange, before this position.
    Inside(Position),
    /// Where a summary begins. It keeps this message, which comes before the others.
    Summary(Option<Arc<str>>),
}

impl Window {
    fn new(ctx: &TurnContext, exchanges: usize, most: usize) -> Self {
        let here = ctx.journal().records();
        // A resumed turn may have been compacted, within its own records or before them.
        let covers = here.summary().and_then(|summary| summary.covers());
        let covers = covers.cloned();
        let own = here.with_covered();
        let cut = covers.as_ref().filter(|covers| {
            let ends_here = |record: &Record| {
                let next = covers.next.as_ref();
                next.is_some_and(|next| next.refers_to(record)) || covers.last.refers_to(record)
            };
            own.iter().any(ends_here)
        });
        let cut = cut.map(|covers| Cut::Summary(covers.opening.clone()));
        let here = own
            .iter()
            .map(|record| (record.kind(), record.id().to_owned()));
        Window {
            records: Vec::new(),
            cut,
            here: here.collect(),
            exchanges_left: exchanges,
            most,
            complete: 0,
            covers,
            summary: None,
        }
    }

    fn push(&mut self, page: Vec<Stored>) {
        for one in page.into_iter().rev() {
            let key = (one.record.kind(), one.record.id().to_owned());
            if self.cut.is_some() || self.here.contains(&key) {
                continue;
            }
            if let Record::Retrievable(found) = &one.record
                && let Some(covers) = found.covers()
            {
                // Only the newest one counts. It covers those before it.
                if self.covers.is_none() {
                    self.covers = Some(covers.clone());
                    self.summary = Some(one);
                }
                continue;
            }
            let (begins, covered) = match &self.covers {
                Some(covers) => {
                    let next = covers.next.as_ref();
                    let begins = next.is_some_and(|next| next.refers_to(&one.record));
                    (begins, covers.last.refers_to(&one.record))
                }
                None => (false, false),
            };
            if covered {
                self.cut_at_summary();
                continue;
            }
            let place = one.position;
            let opens = opens(&one.record);
            self.records.push(one);
            if opens {
                self.complete = self.records.len();
                self.exchanges_left -= 1;
            }
            if begins {
                self.cut_at_summary();
            } else if self.exchanges_left == 0 || self.records.len() == self.most {
                self.cut = Some(match self.complete {
                    0 => Cut::Inside(place),
                    complete => Cut::At(complete),
                });
            }
        }
    }
}

impl Window {
    fn cut_at_summary(&mut self) {
        let covers = self.covers.as_ref();
        let opening = covers.and_then(|covers| covers.opening.clone());
        self.cut = Some(Cut::Summary(opening));
    }
}

/// Returns whether an exchange starts with this record.
pub(super) fn opens(record: &Record) -> bool {
    let Record::Message(message) = record else {
        return false;
    };
    matches!(message.author(), Author::User | Author::Agent { .. })
}

/// Finds the last message before a position that starts an exchange.
async fn opening(
    conversation_id: &ConversationId,
    pages: &Pages<'_>,
    before: Position,
) -> Result<Option<Stored>, Error> {
    let mut found = None;
    pages
        .read_back(
            conversation_id,
            &[RecordKind::Message],
            Some(before),
            |page, _| {
                found = page.into_iter().rev().find(|one| opens(&one.record));
                found.is_none()
            },
        )
        .await?;
    Ok(found)
}

/// Closes loaded calls without a result: their process died, or they are still running elsewhere. The ledger tells which of them
/// may have taken effect. Does not change the store.
async fn close_open_calls(
    found: &mut [Stored],
    pages: &Pages<'_>,
    conversation_id: &ConversationId,
) -> Result<(), Error> {
    let is_open = |one: &&Stored| matches!(&one.record, Record::ToolCall(call) if call.is_open());
    let Some(first) = found.iter().find(is_open).map(|one| one.position) else {
        return Ok(());
    };
    let started = started_since(first, pages, conversation_id).await?;
    let damaged = pages.damaged.lock();
    // A damaged ledger entry may belong to any of them.
    let doubtful = damaged
        .iter()
        .any(|record| record.kind == Some(RecordKind::Ledger));
    for one in found {
        if let Record::ToolCall(call) = &mut one.record
            && call.is_open()
        {
            let settled = left_open(doubtful || started.contains(call.id()));
            *call = Arc::clone(call).closed(settled);
        }
    }
    Ok(())
}

/// Returns the calls from a position on that started and did not end. The ledger entry of a call is never written before its
/// record.
async fn started_since(
    first: Position,
    pages: &Pages<'_>,
    conversation_id: &ConversationId,
) -> Result<HashSet<String>, Error> {
    let mut started = HashSet::new();
    pages
        .read_back(
            conversation_id,
            &[RecordKind::Ledger],
            None,
            |page, place| {
                for one in page {
                    if let Record::Ledger(entry) = &one.record
                        && matches!(entry.state, CallState::Started | CallState::Unknown)
                    {
                        started.insert(entry.tool_call.to_owned());
                    }
                }
                place.is_some_and(|place| place >= first)
            },
        )
        .await?;
    Ok(started)
}
