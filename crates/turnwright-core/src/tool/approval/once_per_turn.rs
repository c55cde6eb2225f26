//! Lets tools run once per turn.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::tool_pattern::ToolPattern;
use super::{ApprovalPolicy, PendingCall, Review};
use crate::record::{ToolCall, ToolResults};
use crate::tool::context::{Setup, TurnContext, WeakTurnContext};

struct OncePerTurn {
    tools: ToolPattern,
}

/// Denies a second call of a tool in the same turn. The pattern names tools or a [source](crate::tool::ToolBuilder::source); `*` matches
/// any characters. Each tool that matches may run once.
///
/// Calls that did not run do not count. A policy of a runner counts the calls of turns under its turn too. A resumed turn counts
/// the calls that it made before.
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_core::tool::approval::once_per_turn;
/// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let pay = Tool::dynamic("pay", json!({ "type": "object" }))
///     .description("Pays the bill.")
///     .handler(|_: Value, _: ToolContext| async { "paid" })
///     .build()?;
/// let ctx = DispatchContext::builder()
///     .tools(ToolRegistry::new([pay])?)
///     .policy(once_per_turn("pay"))
///     .build();
/// assert!(!ctx.call("pay", "{}").await.is_error());
/// assert!(ctx.call("pay", "{}").await.denial().is_some());
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn once_per_turn(tools: &str) -> impl ApprovalPolicy + use<> {
    OncePerTurn {
        tools: ToolPattern::new(tools),
    }
}

#[async_trait]
impl ApprovalPolicy for OncePerTurn {
    async fn review(&self, call: &PendingCall<'_>) -> Review {
        if !self.tools.matches(call.tool()) {
            return Review::Allow;
        }
        let own = call.context().turn();
        let turn = self.turn_of(own);
        if turn.ran_before(call) || !turn.claims().claim(call) {
            let name = call.tool().name();
            return Review::deny(format!("`{name}` may run once per turn"));
        }
        Review::Allow
    }
}

impl OncePerTurn {
    /// Returns the turn whose runner has this policy. For a policy of a tool, that is the turn of the call.
    fn turn_of<'t>(&self, own: &'t TurnContext) -> &'t TurnContext {
        let this = std::ptr::from_ref(self).cast::<()>();
        let is_this = |policy: &Arc<dyn ApprovalPolicy>| Arc::as_ptr(policy).cast::<()>() == this;
        let has = |setup: &Arc<Setup>| setup.policies.iter().any(is_this);
        // Outermost first.
        let Some(level) = own.setups().position(has) else {
            return own;
        };
        let inner = own.setups().count().saturating_sub(level + 1);
        own.and_outer().nth(inner).unwrap_or(own)
    }
}

/// The calls that were allowed to run in a turn and the turns under it.
#[derive(Default)]
struct Claims(Mutex<Vec<Claim>>);

struct Claim {
    tool: Arc<str>,
    turn: WeakTurnContext,
    call: String,
}

impl Claims {
    /// Returns whether the call may run.
    fn claim(&self, call: &PendingCall<'_>) -> bool {
        let mut claims = self.0.lock();
        let (turn, tool) = (call.context().turn(), call.tool().shared_name());
        let is_own = |claim: &Claim| claim.turn.is(turn) && claim.call == call.id();
        // A call is reviewed again when its arguments were changed.
        if claims.iter().any(is_own) {
            return true;
        }
        claims.retain(|claim| !claim.was_refused());
        let is_free = !claims.iter().any(|claim| claim.tool == *tool);
        if is_free {
            claims.push(Claim {
                tool: Arc::clone(tool),
                turn: turn.downgrade(),
                call: call.id().to_owned(),
            });
        }
        is_free
    }
}

impl Claim {
    /// Returns whether the call did not run in the end.
    fn was_refused(&self) -> bool {
        let turn = self.turn.upgrade();
        let call = turn.and_then(|turn| turn.records().get::<ToolCall>(&self.call));
        call.is_some_and(|call| matches!(call.results(), ToolResults::Refusal(_)))
    }
}

impl TurnContext {
    fn claims(&self) -> Arc<Claims> {
        self.wiring().per_turn()
    }

    /// Returns whether this turn has the result of another call of the tool, from this run or one before it.
    fn ran_before(&self, call: &PendingCall<'_>) -> bool {
        let is_other = |other: &Arc<ToolCall>| {
            other.tool() == call.tool().name()
                && other.id() != call.id()
                && other.is_complete()
                && !matches!(other.results(), ToolResults::Refusal(_))
        };
        self.records().own_tool_calls().iter().any(is_other)
    }
}
