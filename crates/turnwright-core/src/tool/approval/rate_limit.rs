//! Limits how often tools are called.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::tool_pattern::ToolPattern;
use super::{ApprovalPolicy, PendingCall, Review};
use crate::tool::context::WeakTurnContext;

#[derive(Clone)]
struct RateLimit {
    tools: ToolPattern,
    calls: usize,
    per: Duration,
    recent: Arc<Mutex<VecDeque<Admitted>>>,
}

/// A call that was allowed.
struct Admitted {
    at: Instant,
    turn: WeakTurnContext,
    /// Stays the same when the turn is resumed.
    nonce: Option<Arc<str>>,
    call: String,
}

impl Admitted {
    /// Returns whether this is the same call of the same turn. Their ids are unique only within a conversation.
    fn is(&self, call: &PendingCall<'_>) -> bool {
        let turn = call.context().turn();
        let is_resumed = || self.nonce.is_some() && self.nonce.as_deref() == turn.nonce();
        self.call == call.id() && (self.turn.is(turn) || is_resumed())
    }
}

/// Denies calls of these tools when `calls` calls of them were allowed within the last `per`. The pattern names tools or a
/// [source](crate::tool::ToolBuilder::source); `*` matches any characters. It counts the calls of all turns of the runner, and of
/// clones of the policy. Artifact tools do not count.
///
/// The count is in memory: another process counts for itself. For limits of a turn, see [`Budget`](crate::Budget).
///
/// ```
/// use std::time::Duration;
/// use turnwright_core::DispatchContext;
/// use turnwright_core::tool::approval::rate_limit;
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// let runner = turnwright_core::runner(executor)
///     .policy(rate_limit("search__*", 10, Duration::from_secs(60)))
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
pub fn rate_limit(tools: &str, calls: usize, per: Duration) -> impl ApprovalPolicy + Clone + use<> {
    RateLimit {
        tools: ToolPattern::new(tools),
        calls,
        per,
        recent: Arc::default(),
    }
}

impl RateLimit {
    fn admit(&self, call: &PendingCall<'_>) -> bool {
        let now = Instant::now();
        let turn = call.context().turn();
        let mut recent = self.recent.lock();
        let is_over = |one: &Admitted| now.saturating_duration_since(one.at) >= self.per;
        while recent.front().is_some_and(is_over) {
            recent.pop_front();
        }
        // A call is reviewed again when its arguments were changed.
        if recent.iter().any(|one| one.is(call)) {
            return true;
        }
        let admits = recent.len() < self.calls;
        if admits {
            recent.push_back(Admitted {
                at: now,
                turn: turn.downgrade(),
                nonce: turn.nonce().map(Arc::from),
                call: call.id().to_owned(),
            });
        }
        admits
    }
}

#[async_trait]
impl ApprovalPolicy for RateLimit {
    async fn review(&self, call: &PendingCall<'_>) -> Review {
        if !self.tools.matches(call.tool()) || self.admit(call) {
            return Review::Allow;
        }
        let RateLimit { calls, per, .. } = self;
        Review::deny(format!(
            "the rate limit of {calls} calls per {per:?} is reached"
        ))
    }
}
