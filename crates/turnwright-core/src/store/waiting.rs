//! Turns that wait to be answered or resumed, over all conversations.

use std::sync::Arc;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ConversationId, FoundTurn, Store, StoreError, TurnCursor, TurnFilter};
use crate::gate::OpenGate;
use crate::record::{TurnState, is_gone, rfc3339};

/// The number of turns that are loaded at once.
const PAGE: usize = 256;

/// Lists the turns that a filter selects and that wait to be answered, or can go on.
pub(crate) async fn waiting(
    store: &dyn Store,
    filter: &TurnFilter,
    resumable: bool,
) -> Result<Vec<Waiting>, StoreError> {
    let most = filter.limit.unwrap_or(usize::MAX);
    let mut filter = filter.clone().limit(PAGE);
    if filter.states.is_empty() {
        filter.states = vec![TurnState::Suspended, TurnState::Running];
    }
    let (now, mut waiting) = (SystemTime::now(), Vec::new());
    while waiting.len() < most {
        let page = store.find_turns(&filter).await?;
        let is_last = page.len() < PAGE;
        filter.after = page.last().map(FoundTurn::cursor);
        for found in &page {
            let row = Waiting::new(found, now);
            let selected = if resumable {
                let turn = found.turn.as_ref();
                // A turn under a call goes on with its outer turn.
                turn.is_none_or(|turn| turn.outer_tiers.is_none())
                    && (row.state != WaitingState::Suspended
                        || turn.is_none_or(|turn| turn.waits_at.is_empty())
                        || found.open_gates.iter().any(|gate| gate.is_expired(now)))
            } else {
                row.state != WaitingState::Running || !row.gates.is_empty()
            };
            waiting.extend(selected.then_some(row));
        }
        if is_last {
            break;
        }
    }
    waiting.truncate(most);
    Ok(waiting)
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

names! {
    /// What a [`Waiting`] turn waits for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
    #[non_exhaustive]
    pub enum WaitingState {
        /// No process runs it. It waits for answers at its gates, or to be resumed if it can go on without one.
        Suspended = "suspended",
        /// No process runs it. It was suspended at gates of which at least one is answered now, and was not resumed.
        AnsweredNotResumed = "answeredNotResumed",
        /// A process seems to run it, and waits at its gates.
        Running = "running",
        /// Its process seems to have died, by the wall clock. It waits to be resumed.
        Interrupted = "interrupted",
    }
}

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

    /// Returns the position of the turn in the list, for the next page.
    #[must_use]
    pub fn cursor(&self) -> TurnCursor {
        let conversation = ConversationId::new(Arc::clone(&self.conversation));
        TurnCursor::new(self.started_at, conversation, &*self.turn_id)
    }
}
