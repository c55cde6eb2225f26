//! The records of a turn, as they are now.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt as _;

use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::event::TurnEvent;
use crate::panic::text_of;
use crate::record::{
    Memory, Message, Record, RecordKind, Retrievable, StandingInstruction, Thought, ToolCall,
};
use crate::record_log::Origin;
use crate::store::{Batch, Change, Revision, Store, StoreError};
use crate::telemetry::here;
use crate::tool::context::TurnContext;

/// The methods of a context for each kind of record.
macro_rules! record_methods {
    ($($field:ident: $kind:ident($record:ident), $add:ident, $store:ident, $forget:ident, $remove:ident, $what:literal;)+) => {
        impl TurnContext {
            $(
                #[doc = concat!("The ", $what, " of this turn, in order, as they are now: those of earlier turns first.")]
                #[must_use]
                pub fn $field(&self) -> Vec<Arc<$record>> {
                    let records = self.inner().records.read();
                    records.$field.all().map(|one| Arc::clone(&one.record)).collect()
                }

                #[doc = concat!("Adds to the ", $what, " of this turn, or replaces that of the same id. Nothing is stored.")]
                pub fn $add(&self, record: Arc<$record>) {
                    // What was replaced ends after the lock: that may be foreign code.
                    let _replaced = self.inner().records.write().put(&Record::$kind(record), Origin::Now);
                }

                #[doc = concat!("Stores one of the ", $what, " and adds it to this turn, or replaces that of the same id.")]
                ///
                /// # Errors
                /// `E_STORE_ERROR`: the turn does not have it either then.
                pub async fn $store(&self, record: Arc<$record>) -> Result<(), Error> {
                    self.write(vec![Record::$kind(record)]).await
                }

                #[doc = concat!("Takes one of the ", $what, " out of this turn and out of the store. `false` if there is none of that id.")]
                ///
                /// # Errors
                /// `E_STORE_ERROR`: it is still there then.
                pub async fn $forget(&self, id: &str) -> Result<bool, Error> {
                    let known = self.inner().records.read().$field.has(id);
                    let change = Change::Delete(RecordKind::$kind, id.to_owned());
                    self.apply(vec![change]).await?;
                    Ok(known)
                }

                #[doc = concat!("Takes one of the ", $what, " out of this turn. The store keeps what it has.")]
                pub fn $remove(&self, id: &str) -> Option<Arc<$record>> {
                    self.inner().records.write().$field.remove(id)
                }
            )+
        }
    };
}

record_methods! {
    instructions: Instruction(StandingInstruction), add_instruction, store_instruction, forget_instruction, remove_instruction, "standing instructions";
    memories: Memory(Memory), add_memory, store_memory, forget_memory, remove_memory, "memories";
    retrievables: Retrievable(Retrievable), add_retrievable, store_retrievable, forget_retrievable, remove_retrievable, "retrievables";
    messages: Message(Message), add_message, store_message, forget_message, remove_message, "messages";
    thoughts: Thought(Thought), add_thought, store_thought, forget_thought, remove_thought, "thoughts";
    tool_calls: ToolCall(ToolCall), add_tool_call, store_tool_call, forget_tool_call, remove_tool_call, "calls";
}

impl TurnContext {
    /// Every record of this turn as it is now, of all kinds, in the order in which they came: those of earlier turns first.
    /// A standing instruction or a memory that was replaced in this turn is listed where it was last replaced.
    #[must_use]
    pub fn timeline(&self) -> Vec<Record> {
        self.inner().records.read().all()
    }

    /// What the turn began with, if somebody said something.
    #[must_use]
    pub fn input(&self) -> Option<Arc<Message>> {
        let records = self.inner().records.read();
        let mut came = records.messages.all().filter(|one| one.place.in_this_turn);
        let input = came.next().map(|one| Arc::clone(&one.record));
        input.filter(|message| !message.is_answer())
    }

    /// The calls that were made in this turn, in order: without those of earlier turns.
    #[must_use]
    pub fn own_tool_calls(&self) -> Vec<Arc<ToolCall>> {
        let records = self.inner().records.read();
        let came = records
            .tool_calls
            .all()
            .filter(|one| one.place.in_this_turn);
        came.map(|one| Arc::clone(&one.record)).collect()
    }

    /// The call of that id, if it is one of this turn's.
    #[must_use]
    pub fn tool_call(&self, id: &str) -> Option<Arc<ToolCall>> {
        self.inner().records.read().tool_calls.get(id).cloned()
    }

    /// The retrievable of that id, if it is one of this turn's.
    #[must_use]
    pub fn retrievable(&self, id: &str) -> Option<Arc<Retrievable>> {
        self.inner().records.read().retrievables.get(id).cloned()
    }

    /// Adds records of earlier turns, in their order: they stand before everything that came in this turn, and count as
    /// this turn's. One that the turn has already stays as it is.
    pub fn hydrate(&self, records: impl IntoIterator<Item = Record>) {
        // Collected first: the iterator is foreign code and may look at this turn.
        let found: Vec<Record> = records.into_iter().collect();
        let mut records = self.inner().records.write();
        for record in &found {
            // Nothing is replaced by what was there before.
            let _nothing = records.put(record, Origin::Before);
        }
    }

    /// Stores records, all or none, adds them to this turn, and then emits the events that they have on its stream.
    pub(crate) async fn write(&self, records: Vec<Record>) -> Result<(), Error> {
        self.apply(records.into_iter().map(Change::Put).collect())
            .await
    }

    /// Makes changes in the store and in this turn. Once begun it is brought to its end, also if nobody waits for it any
    /// more: what the store holds is what the turn has. A turn that cannot keep its records cannot go on, whoever wanted to
    /// write: a store that fails ends it.
    async fn apply(&self, mut changes: Vec<Change>) -> Result<(), Error> {
        if self.inner().ended.is_set() {
            let message = "the turn has ended: what comes after it is another turn's";
            return Err(Error::new(ErrorCode::InvalidTurnContext, message));
        }
        let Some(store) = self.record_store() else {
            self.keep_changes(&changes);
            self.say(&changes).await;
            return Ok(());
        };
        if self.inner().store_hangs.is_set() {
            let message = "the store did not answer before, and is not asked again";
            return Err(Error::new(ErrorCode::Store, message));
        }
        let (turn, store) = (self.clone(), Arc::clone(store));
        let mut work = Box::pin(async move {
            turn.keep_media_in(&mut changes).await?;
            // One after the other, in the order in which they were begun.
            let writing = turn.inner().writes.lock().await;
            let mut batch = Batch::from(changes.clone());
            let mut renewed = None;
            if let Some(hold) = turn.hold() {
                // Not over a lease that is in it: that one lets go.
                let lets_go = |change: &Change| matches!(change, Change::Put(Record::Lease(_)));
                if !batch.changes.iter().any(lets_go)
                    && let Some((since, renewal)) = hold.renewal_if_due()
                {
                    batch.changes.push(renewal);
                    renewed = Some((hold, since));
                }
                if batch.changes.is_empty() {
                    // Somebody else has renewed it meanwhile.
                    return Ok(());
                }
                batch = batch.fencing_token(hold.fencing_token());
            }
            let applied = apply_once(&turn, &*store, batch).await;
            let applied = applied.and_then(|applied| {
                applied.map_err(|error| match error.fenced_by() {
                    Some(_) => turn.taken_over().with_source(error),
                    None => Error::from(error),
                })
            });
            if let Err(error) = applied {
                turn.inner().unwritten.set();
                turn.fail(error.clone());
                return Err(error);
            }
            if let Some((hold, since)) = renewed {
                hold.renewed(since);
            }
            turn.keep_changes(&changes);
            drop(writing);
            turn.say(&changes).await;
            Ok(())
        });
        // Most stores answer at once, and then no task is needed.
        match poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
            Poll::Ready(written) => written,
            Poll::Pending => match self.runtime() {
                Some(runtime) => {
                    let written = self
                        .inner()
                        .tasks
                        .spawn_on(here().instrument(work), &runtime)
                        .await;
                    written.unwrap_or_else(|lost| {
                        let message = "the runtime was shut down while the store wrote";
                        Err(Error::new(ErrorCode::Store, message).with_source(lost))
                    })
                }
                None => work.await,
            },
        }
    }

    /// Emits the events of what was stored. Every write comes through here, so a record is on the stream however it was
    /// stored.
    async fn say(&self, changes: &[Change]) {
        for change in changes {
            if let Change::Put(record) = change
                && let Some(event) = TurnEvent::of_record(record)
            {
                self.emit(|| event).await;
            }
        }
    }

    pub(crate) fn keep_changes(&self, changes: &[Change]) {
        let mut records = self.inner().records.write();
        let mut gone: Vec<[Option<Record>; 2]> = Vec::new();
        for change in changes {
            gone.push(match change {
                Change::Put(record) => records.put(record, Origin::Stored),
                Change::Delete(kind, id) => records.forget(*kind, id),
            });
        }
        drop(records);
        // Ends after the lock: that may be foreign code.
        drop(gone);
    }
}

/// Applies a batch within the runner's time limit for the store. If the store does not know whether the batch was applied, asks
/// once more with the same batch: it is applied at most once.
pub(crate) async fn apply_once(
    turn: &TurnContext,
    store: &dyn Store,
    batch: Batch,
) -> Result<Result<Revision, StoreError>, Error> {
    let applied = async {
        match store.apply(turn.conversation_id(), batch.clone()).await {
            Err(error) if error.is_outcome_unknown() => {
                store.apply(turn.conversation_id(), batch).await
            }
            applied => applied,
        }
    };
    in_time(turn, applied).await
}

/// Waits for the store, no longer than the runner allows; a panic in it is its failure.
pub(crate) async fn in_time<T>(
    turn: &TurnContext,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    let limit = turn.setup().store_timeout;
    let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
    let time = TimeLimit::from_now(Some(limit));
    let done = match within(time, None, work.as_mut()).await {
        Err(Cut::Timeout(_)) => {
            // What comes after would wait as long, and in vain.
            turn.inner().store_hangs.set();
            let message = format!("the store did not answer within {limit:?}");
            return Err(Error::new(ErrorCode::Store, message));
        }
        // Nothing to measure by: it takes as long as it takes.
        Err(Cut::NoTimer | Cut::Cancelled) => work.await,
        Ok(done) => done,
    };
    done.map_err(|panic| {
        let message = format!("the store panicked: {}", text_of(panic));
        Error::new(ErrorCode::Store, message)
    })
}
