//! How much of the earlier conversation a turn starts with.

mod load;
mod pages;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::record::RecordKind;
use crate::store::ConversationId;
use crate::tool::context::TurnContext;

/// Default maximum number of timeline records.
const MAX_RECORDS: usize = 2_000;
/// Default number of records per query.
const PAGE_SIZE: usize = 256;

/// Finds another conversation whose memories a turn gets too.
type MemoriesFrom = Arc<dyn Fn(&TurnContext) -> Option<ConversationId> + Send + Sync>;

/// How much of the earlier conversation a turn starts with. Set it with
/// [`TurnRunnerBuilder::history`](super::TurnRunnerBuilder::history).
///
/// Standing instructions and memories are loaded completely. Messages, thoughts, tool calls and retrievables form the timeline,
/// of which the newest part is loaded. Artifacts of earlier tool calls can be read.
///
/// The loaded part of the timeline starts with a message of a user or another agent, so that no tool call appears without the
/// message that led to it. If everything after one message is longer than [`max_records`](Self::max_records), that message is
/// loaded, followed by the newest records. The store is read in pages from the newest record backwards, no further than
/// necessary.
///
/// If the conversation was [compacted](crate::middleware::compact()), the timeline starts with the newest summary instead of what
/// it covers. A history that ends before the summary was written does not load it.
///
/// History is loaded after the input of the turn was stored and before the turn input middleware runs. If the store cannot be
/// read, the turn fails with `E_STORE_ERROR`. A turn without a conversation has no history.
///
/// ```
/// use turnwright_core::runner::History;
/// use turnwright_core::{DispatchContext, Message, TurnInput};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     let said: Vec<String> = ctx.records().all::<Message>().iter().map(|it| it.text().to_owned()).collect();
///     ctx.answer(said.join(", ")).await?;
///     Ok(())
/// })
/// .history(History::last(1))
/// .build()?;
/// let say = |text: &str| TurnInput::new(text).conversation("chat-1");
/// assert_eq!(runner.run(say("one")).await.into_answer()?, "one");
/// assert_eq!(runner.run(say("two")).await.into_answer()?, "one, one, two");
/// assert_eq!(runner.run(say("three")).await.into_answer()?, "two, one, one, two, three");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a history does nothing until a runner has it"]
pub struct History {
    kinds: Option<Vec<RecordKind>>,
    last: usize,
    max_records: usize,
    page_size: usize,
    memories_from: Vec<MemoriesFrom>,
}

impl History {
    /// Loads the whole conversation: of the timeline the newest [`max_records`](Self::max_records).
    pub fn all() -> Self {
        History {
            kinds: None,
            last: usize::MAX,
            max_records: MAX_RECORDS,
            page_size: PAGE_SIZE,
            memories_from: Vec::new(),
        }
    }

    /// Loads the last `exchanges` of the timeline, with all standing instructions and memories. An exchange is a message of a
    /// user or another agent with everything that followed it. The input of the new turn does not count.
    pub fn last(exchanges: usize) -> Self {
        History {
            last: exchanges,
            ..History::all()
        }
    }

    /// Loads nothing. Turns with a conversation are still stored.
    pub fn none() -> Self {
        History::all().kinds([])
    }

    /// Loads only these kinds of records. Turns, leases, gates, the ledger and conversation infos are never loaded.
    ///
    /// Default: all kinds.
    pub fn kinds(mut self, kinds: impl IntoIterator<Item = RecordKind>) -> Self {
        self.kinds = Some(kinds.into_iter().collect());
        self
    }

    /// Loads at most this many records of the timeline.
    ///
    /// Default: 2,000.
    pub fn max_records(mut self, records: usize) -> Self {
        self.max_records = records;
        self
    }

    /// Sets how many records one query requests. Zero counts as one.
    ///
    /// Default: 256.
    #[cfg(test)]
    fn page_size(mut self, records: usize) -> Self {
        self.page_size = records.max(1);
        self
    }

    /// Also loads all memories of another conversation, for example one with facts about the user. Return `None` if there is none
    /// for this turn. If two memories have the same id, that of the turn's own conversation is used. Can be called more than
    /// once.
    ///
    /// This also applies to turns without a conversation and to [`History::none`].
    ///
    /// ```
    /// use turnwright_core::TurnContext;
    /// use turnwright_core::runner::History;
    /// use turnwright_core::store::ConversationId;
    ///
    /// let history = History::last(20)
    ///     .memories_from(|ctx: &TurnContext| Some(ConversationId::new(ctx.stash().get_as::<String>("user")?)));
    /// ```
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
}

impl Default for History {
    fn default() -> Self {
        History::all()
    }
}

debug_fields!(History {
    kinds,
    last,
    max_records
});
