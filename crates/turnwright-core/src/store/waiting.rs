//! Turns that wait to be answered or resumed, over all conversations.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ConversationId, FoundTurn, Store, StoreError, TurnCursor, TurnFilter};
use crate::gate::OpenGate;
use crate::record::{TurnState, is_gone, rfc3339};

/// The number of turns that are loaded at once.
const PAGE: usize = 256;

/// Lists the turns that wait to be answered or resumed, oldest first: see [`Storage::waiting`](crate::Storage::waiting).
///
/// ```
/// use turnwright_core::Storage;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let storage = Storage::memory();
/// for turn in storage.waiting().prefix("ada/").limit(50).await? {
///     println!("{}: {} open gates", turn.turn_id, turn.gates.len());
/// }
/// # Ok::<(), turnwright_core::store::StoreError>(()) }).unwrap();
/// ```
#[must_use = "a query does nothing until it is awaited"]
pub struct WaitingQuery<'s> {
    store: &'s dyn Store,
    filter: TurnFilter,
    resumable: bool,
    limit: usize,
}

impl<'s> WaitingQuery<'s> {
    pub(crate) fn new(store: &'s dyn Store) -> Self {
        WaitingQuery {
            store,
            filter: TurnFilter::all()
                .state(TurnState::Suspended)
                .state(TurnState::Running),
            resumable: false,
            limit: usize::MAX,
        }
    }

    /// Selects only turns of conversations whose id begins with this text.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.filter.prefix = Some(prefix.into());
        self
    }

    /// Selects only turns after this one: the [`cursor`](Waiting::cursor) of the last turn of the page before.
    pub fn after(mut self, cursor: TurnCursor) -> Self {
        self.filter.after = Some(cursor);
        self
    }

    /// Sets the maximum number of turns. A page with fewer is the last one. Default: all.
    pub fn limit(mut self, most: usize) -> Self {
        self.limit = most;
        self
    }

    /// Selects only turns that can go on, which a process that starts resumes:
    ///
    /// - turns that are not suspended, whether their lease has expired or not, and whether they wait at a gate or not
    /// - suspended turns with an answer that was not used yet, because the process that was to resume them died
    ///   ([`WaitingState::AnsweredNotResumed`]). Others of their gates may be open
    /// - turns that were suspended before they had started all that could run without an answer
    /// - suspended turns with a gate whose timeout has expired: it accepts no answer until the resumed turn asks again
    ///
    /// Right after a crash the leases of the dead process have not expired: its turns are [`WaitingState::Running`].
    /// [`TurnRunner::resume`](crate::TurnRunner::resume) waits for the expiry. For a turn that another process is running the outcome
    /// is `E_TURN_HELD`, and that turn is not disturbed. If the turn ends meanwhile, the outcome is its own, and it is not resumed.
    pub fn resumable(mut self) -> Self {
        self.resumable = true;
        self
    }

    async fn list(self) -> Result<Vec<Waiting>, StoreError> {
        let mut filter = self.filter.limit(PAGE);
        let (now, mut waiting) = (SystemTime::now(), Vec::new());
        while waiting.len() < self.limit {
            let page = self.store.find_turns(&filter).await?;
            let is_last = page.len() < PAGE;
            filter.after = page.last().map(FoundTurn::cursor);
            for found in &page {
                let row = Waiting::new(found, now);
                let selected = if self.resumable {
                    let turn = found.turn.as_ref();
                    row.state != WaitingState::Suspended
                        || turn.is_none_or(|turn| turn.waits_at.is_empty())
                        || found.open_gates.iter().any(|gate| gate.is_expired(now))
                } else {
                    row.state != WaitingState::Running || !row.gates.is_empty()
                };
                waiting.extend(selected.then_some(row));
            }
            if is_last {
                break;
            }
        }
        waiting.truncate(self.limit);
        Ok(waiting)
    }
}

impl<'s> IntoFuture for WaitingQuery<'s> {
    type Output = Result<Vec<Waiting>, StoreError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 's>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.list())
    }
}

impl fmt::Debug for WaitingQuery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingQuery")
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}

/// A turn that waits to be answered or resumed, with everything that a user interface shows.
///
/// As JSON: `conversation`, `turnId`, `state`, `beganAt` and `gates`, an array of [`OpenGate`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Waiting {
    /// The conversation.
    pub conversation: Arc<str>,
    /// The turn.
    pub turn_id: Arc<str>,
    /// What it waits for.
    pub state: WaitingState,
    /// When it started. The Unix epoch if its record is damaged.
    #[serde(rename = "beganAt", serialize_with = "rfc3339")]
    #[schemars(with = "String")]
    pub started_at: SystemTime,
    /// The gates where it waits, in the order in which they were opened. Empty if it only has to be resumed.
    pub gates: Vec<OpenGate>,
}

/// What a [`Waiting`] turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum WaitingState {
    /// No process runs it. It waits for answers at its gates, or to be resumed if it can go on without one.
    Suspended,
    /// No process runs it. It was suspended at gates of which at least one is answered now, and was not resumed.
    AnsweredNotResumed,
    /// A process seems to run it, and waits at its gates.
    Running,
    /// Its process seems to have died, by the wall clock. It waits to be resumed.
    Interrupted,
}

names!(WaitingState {
    Suspended = "suspended",
    AnsweredNotResumed = "answeredNotResumed",
    Running = "running",
    Interrupted = "interrupted",
});

impl Waiting {
    fn new(found: &FoundTurn, now: SystemTime) -> Self {
        let lease = found.lease.as_ref();
        let held = lease.is_some_and(|lease| lease.until >= now && !is_gone(lease));
        let suspended = found.turn.as_ref();
        let suspended = suspended.filter(|turn| turn.state == TurnState::Suspended);
        Waiting {
            conversation: found.conversation.shared(),
            turn_id: found.turn_id.as_str().into(),
            state: match suspended {
                Some(_) if found.is_answered_not_resumed() => WaitingState::AnsweredNotResumed,
                Some(_) => WaitingState::Suspended,
                _ if held => WaitingState::Running,
                _ => WaitingState::Interrupted,
            },
            started_at: found.started_at,
            gates: (found.open_gates.iter())
                .map(|gate| OpenGate::from(&**gate))
                .collect(),
        }
    }

    /// Returns whether no process runs the turn, because it was suspended.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        matches!(
            self.state,
            WaitingState::Suspended | WaitingState::AnsweredNotResumed
        )
    }

    /// Returns whether its process seems to have died. [`TurnRunner::resume`](crate::TurnRunner::resume) finds out, and continues it.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.state == WaitingState::Interrupted
    }

    /// Returns the position of the turn in the list, for the next page.
    #[must_use]
    pub fn cursor(&self) -> TurnCursor {
        let conversation = ConversationId::new(Arc::clone(&self.conversation));
        TurnCursor::new(self.started_at, conversation, &*self.turn_id)
    }
}
