//! The records of a turn, with one set of operations for all kinds.

use std::sync::Arc;

use super::turn::TurnContext;
use crate::record::{Message, Record, TimelineRecord, ToolCall};

/// A handle to the records of a turn, returned by [`ctx.records()`](crate::DispatchContext::records).
///
/// A turn starts with the records loaded from earlier turns and adds its own. The operations take the type of the record:
/// `all::<Memory>()`, `get::<ToolCall>(id)`, `remove::<Message>(id)`. There is also a method that lists each kind.
///
/// [`add`](Self::add) and [`remove`](Self::remove) change the turn only. [`store`](Self::store) and [`delete`](Self::delete)
/// change the turn and its conversation in the store.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::record::{Memory, Message};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let ctx = DispatchContext::standalone();
/// let records = ctx.records();
/// records.store(Message::user("Hello!").build()?).await?;
/// records.add(Memory::new("The user likes short answers.").id("style").build()?);
///
/// assert_eq!(records.all::<Message>().len(), 1);
/// assert!(records.get::<Memory>("style").is_some());
/// assert_eq!(records.timeline().len(), 2);
///
/// records.remove::<Memory>("style");
/// assert!(records.all::<Memory>().is_empty());
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a handle to the records does nothing by itself"]
pub struct TurnRecords<'t> {
    turn: &'t TurnContext,
}

impl TurnContext {
    /// Returns a handle to the records of this turn.
    #[doc(alias("memories", "messages", "retrievables", "thoughts", "tool_calls"))]
    pub fn records(&self) -> TurnRecords<'_> {
        TurnRecords { turn: self }
    }

    /// Returns the input message of the turn, if there is one.
    #[must_use]
    pub fn input(&self) -> Option<Arc<Message>> {
        let records = self.journal().records();
        let first = records.of_this_turn::<Message>().next().cloned();
        first.filter(|message| !message.is_answer())
    }
}

impl<'t> TurnRecords<'t> {
    pub(crate) fn turn(self) -> &'t TurnContext {
        self.turn
    }

    /// Returns the records of one type in order, those of earlier turns first.
    #[must_use]
    pub fn all<T: TimelineRecord>(self) -> Vec<Arc<T>> {
        let records = self.turn.journal().records();
        records.of_type().cloned().collect()
    }

    /// Returns the record with this type and id, if the turn has it.
    #[must_use]
    pub fn get<T: TimelineRecord>(self, id: &str) -> Option<Arc<T>> {
        self.turn.journal().records().get(id).cloned()
    }

    /// Adds a record to this turn, or replaces the one with the same id. Does not change the store.
    pub fn add<T: TimelineRecord>(self, record: Arc<T>) {
        let record = record.into_record();
        let record = self.turn.with_reads_of_handlers(record);
        self.turn.journal().add(&record);
    }

    /// Removes a record from this turn and returns it. Does not change the store.
    pub fn remove<T: TimelineRecord>(self, id: &str) -> Option<Arc<T>> {
        let removed = self.turn.journal().remove(T::KIND, id);
        removed.as_ref().and_then(T::of).cloned()
    }

    /// Adds records of earlier turns in order, before all records of this turn. Records that the turn already has are not
    /// changed.
    pub fn hydrate(self, records: impl IntoIterator<Item = Record>) {
        // Collected first: the iterator is user code and may read this turn.
        let found: Vec<Record> = records.into_iter().collect();
        self.turn.journal().hydrate(&found);
    }

    /// Returns the records of all kinds in order, those of earlier turns first. A standing instruction or a memory that was
    /// replaced in this turn is listed where it was last replaced.
    #[must_use]
    pub fn timeline(self) -> Vec<Record> {
        self.turn.journal().records().all()
    }

    /// Returns the calls of this turn in order, without those of earlier turns.
    #[must_use]
    pub fn own_tool_calls(self) -> Vec<Arc<ToolCall>> {
        let records = self.turn.journal().records();
        records.of_this_turn().cloned().collect()
    }
}
