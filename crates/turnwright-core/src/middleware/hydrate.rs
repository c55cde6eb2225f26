//! What was before.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::pages::Pages;
use crate::call::left_open;
use crate::error::{BoxError, Error};
use crate::pipeline::{Middleware, Next};
use crate::record::{Author, CallState, Record, RecordKind};
use crate::store::{ConversationId, Position, Store, Stored};
use crate::tool::context::TurnContext;

/// Records of the timeline that are loaded at most, unless told.
const MOST: usize = 2_000;
/// Records that a store is asked for at once, unless told.
const PAGE: usize = 256;

/// What always holds: all of it is loaded.
const STANDING: [RecordKind; 2] = [RecordKind::Instruction, RecordKind::Memory];
/// What happened, one after the other: the newest of it is loaded.
const TIMELINE: [RecordKind; 4] = [
    RecordKind::Retrievable,
    RecordKind::Message,
    RecordKind::Thought,
    RecordKind::ToolCall,
];

type ScopeOf = Arc<dyn Fn(&TurnContext) -> Option<ConversationId> + Send + Sync>;

/// Loads what the conversation's store holds into the turn: see [`hydrate`].
#[derive(Clone)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct Hydrate {
    kinds: Option<Vec<RecordKind>>,
    last: usize,
    most: usize,
    page: usize,
    memories_from: Vec<ScopeOf>,
}

/// Loads what the store holds of the conversation into the turn: all standing instructions and memories, and of what was
/// said, thought, called and looked up the newest 2,000 records. Calls of earlier turns then count as this turn's, and their
/// artifacts can still be read. For the turn's input.
///
/// What is loaded of the timeline begins where somebody spoke, so that no call stands there without what it was made for.
/// Where what followed one message is longer than may be loaded, that message is loaded all the same, then the newest of
/// the rest. The store is read page by page, from the newest back: what is not loaded is not read either.
///
/// ```
/// use turnwright_core::middleware::hydrate;
/// use turnwright_core::store::ConversationId;
/// use turnwright_core::{DispatchContext, TurnContext, TurnInput, TurnRunner};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
///     let said: Vec<String> = ctx.messages().iter().map(|it| it.text().to_owned()).collect();
///     ctx.answer(said.join(", ")).await?;
///     Ok(())
/// })
/// .turn_input(
///     hydrate()
///         .last(1)
///         .memories_from(|ctx: &TurnContext| Some(ConversationId::new(ctx.stash().get_as::<String>("user")?))),
/// )
/// .build()?;
/// let say = |text: &str| TurnInput::new(text).conversation("chat-1").stash("user", "user-7");
/// assert_eq!(runner.run(say("one")).await.into_answer()?, "one");
/// assert_eq!(runner.run(say("two")).await.into_answer()?, "one, one, two");
/// assert_eq!(runner.run(say("three")).await.into_answer()?, "two, one, one, two, three");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn hydrate() -> Hydrate {
    Hydrate {
        kinds: None,
        last: usize::MAX,
        most: MOST,
        page: PAGE,
        memories_from: Vec::new(),
    }
}

impl Hydrate {
    /// By its type, which nobody else has.
    pub(crate) fn is(layer: &dyn Middleware<TurnContext>) -> bool {
        layer.name() == std::any::type_name::<Hydrate>()
    }

    /// These kinds of records only. The ledger is the store's own and is never loaded.
    pub fn kinds(mut self, kinds: impl IntoIterator<Item = RecordKind>) -> Self {
        self.kinds = Some(kinds.into_iter().collect());
        self
    }

    /// Of the timeline the last `exchanges` only: what a user or another agent said, each with all that followed from it.
    /// What this turn began with does not count.
    pub fn last(mut self, exchanges: usize) -> Self {
        self.last = exchanges;
        self
    }

    /// Of the timeline so many records at most. 2,000 unless told.
    pub fn most(mut self, records: usize) -> Self {
        self.most = records;
        self
    }

    /// How many records the store is asked for at once. 256 unless told.
    pub fn page_size(mut self, records: usize) -> Self {
        self.page = records.max(1);
        self
    }

    /// All memories of another conversation too: those of the user, say, in whatever conversation. `None` where there is none for
    /// this turn. Of two memories with one id the conversation's own counts. May be said more than once.
    pub fn memories_from<S: Into<Option<ConversationId>>>(
        mut self,
        conversation_id: impl Fn(&TurnContext) -> S + Send + Sync + 'static,
    ) -> Self {
        self.memories_from
            .push(Arc::new(move |ctx| conversation_id(ctx).into()));
        self
    }

    fn wants(&self, kind: RecordKind) -> bool {
        self.kinds
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&kind))
    }

    async fn load(&self, ctx: &TurnContext, store: &dyn Store) -> Result<Vec<Record>, Error> {
        let pages = Pages::new(store, self.page);
        let standing: Vec<_> = STANDING
            .into_iter()
            .filter(|kind| self.wants(*kind))
            .collect();
        let mut found = pages.all(ctx.conversation_id(), &standing).await?;
        found.extend(self.timeline(ctx, &pages).await?);
        found.sort_by_key(|one| one.position);
        tell_unfinished(&mut found, &pages, ctx.conversation_id()).await?;
        for conversation_id in self.memories_from.iter().filter_map(|from| from(ctx)) {
            found.extend(pages.all(&conversation_id, &[RecordKind::Memory]).await?);
        }
        ctx.warn_of(&pages.damaged.lock());
        Ok(found.into_iter().map(|one| one.record).collect())
    }

    /// The newest part of the timeline.
    async fn timeline(&self, ctx: &TurnContext, pages: &Pages<'_>) -> Result<Vec<Stored>, Error> {
        let wanted = |kind: &RecordKind| self.wants(*kind);
        if self.last == 0 || self.most == 0 || !TIMELINE.iter().any(wanted) {
            return Ok(Vec::new());
        }
        // Messages are read in any case: they say where a cut may be.
        let kinds: Vec<RecordKind> = TIMELINE
            .into_iter()
            .filter(|kind| *kind == RecordKind::Message || self.wants(*kind))
            .collect();
        let mut window = Window::new(ctx, self.last, self.most);
        pages
            .read_back(ctx.conversation_id(), &kinds, None, |page, _| {
                window.take_in(page);
                window.cut.is_none()
            })
            .await?;
        let mut records = window.records;
        match window.cut {
            Some(Cut::At(count)) => records.truncate(count),
            Some(Cut::Inside(place)) => {
                records.extend(opening(ctx.conversation_id(), pages, place).await?);
            }
            None => {}
        }
        records.retain(|one| self.wants(one.record.kind()));
        Ok(records)
    }
}

/// What is kept of the timeline while it is read backwards.
struct Window {
    /// The newest first.
    records: Vec<Stored>,
    cut: Option<Cut>,
    /// What the turn has already.
    here: HashSet<(RecordKind, String)>,
    exchanges_left: usize,
    most: usize,
    /// How many there were at the last message of the user.
    complete: usize,
}

/// Where older records were left out.
enum Cut {
    /// Before the last of so many.
    At(usize),
    /// In the midst of what followed a message, before this place.
    Inside(Position),
}

impl Window {
    fn new(ctx: &TurnContext, exchanges: usize, most: usize) -> Self {
        let here = ctx.timeline();
        let here = here
            .iter()
            .map(|record| (record.kind(), record.id().to_owned()));
        Window {
            records: Vec::new(),
            cut: None,
            here: here.collect(),
            exchanges_left: exchanges,
            most,
            complete: 0,
        }
    }

    fn take_in(&mut self, page: Vec<Stored>) {
        for one in page.into_iter().rev() {
            let key = (one.record.kind(), one.record.id().to_owned());
            if self.cut.is_some() || self.here.contains(&key) {
                continue;
            }
            let place = one.position;
            let opens = opens(&one.record);
            self.records.push(one);
            if opens {
                self.complete = self.records.len();
                self.exchanges_left -= 1;
            }
            if self.exchanges_left == 0 || self.records.len() == self.most {
                self.cut = Some(match self.complete {
                    0 => Cut::Inside(place),
                    complete => Cut::At(complete),
                });
            }
        }
    }
}

/// Whether somebody begins to speak with it.
pub(super) fn opens(record: &Record) -> bool {
    let Record::Message(message) = record else {
        return false;
    };
    matches!(message.author(), Author::User | Author::Agent { .. })
}

/// The last message before a place with which somebody began to speak.
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

#[async_trait]
impl Middleware<TurnContext> for Hydrate {
    async fn handle(&self, ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
        if let Some(store) = ctx.store() {
            // All of it at once: a store that fails half way leaves nothing half loaded.
            let records = self.load(&ctx, &**store).await?;
            ctx.hydrate(records);
        }
        next.run().await
    }
}

/// Lets the turn know of calls of which nothing came: their process ended before they did, or they still run elsewhere. The
/// ledger says which of them may have had an effect. The store keeps what it has.
async fn tell_unfinished(
    found: &mut [Stored],
    pages: &Pages<'_>,
    conversation_id: &ConversationId,
) -> Result<(), Error> {
    let is_open = |one: &&Stored| matches!(&one.record, Record::ToolCall(call) if call.is_open());
    let Some(first) = found.iter().find(is_open).map(|one| one.position) else {
        return Ok(());
    };
    let begun = begun_since(first, pages, conversation_id).await?;
    let damaged = pages.damaged.lock();
    // What cannot be read may be the line of any of them.
    let doubtful = damaged
        .iter()
        .any(|record| record.kind == Some(RecordKind::Ledger));
    for one in found {
        if let Record::ToolCall(call) = &mut one.record
            && call.is_open()
        {
            let settled = left_open(doubtful || begun.contains(call.id()));
            *call = Arc::clone(call).closed(settled);
        }
    }
    Ok(())
}

/// The calls that were begun and not ended, from a place on: a call's line in the ledger is not written before its record.
async fn begun_since(
    first: Position,
    pages: &Pages<'_>,
    conversation_id: &ConversationId,
) -> Result<HashSet<String>, Error> {
    let mut begun = HashSet::new();
    pages
        .read_back(
            conversation_id,
            &[RecordKind::Ledger],
            None,
            |page, place| {
                for one in page {
                    if let Record::Ledger(entry) = &one.record
                        && matches!(entry.state, CallState::Begun | CallState::Unknown)
                    {
                        begun.insert(entry.tool_call.to_owned());
                    }
                }
                place.is_some_and(|place| place >= first)
            },
        )
        .await?;
    Ok(begun)
}

debug_fields!(Hydrate { kinds, last, most });
