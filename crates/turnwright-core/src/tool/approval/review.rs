//! The decisions of policies and approvers.

use std::fmt;

use serde_json::Value;

use crate::record::TaintSource;

/// The decision of a policy.
///
/// ```
/// use serde_json::json;
/// use turnwright_core::DispatchContext;
/// use turnwright_core::tool::approval::{PendingCall, Review};
///
/// fn review(call: &PendingCall<'_>) -> Review {
///     match (call.tool().name(), call.args()["to"].as_str()) {
///         ("send_mail", Some(to)) if to.ends_with("@example.com") => Review::Allow,
///         ("send_mail", _) => Review::ask("it sends mail outside of the company"),
///         ("delete_account", _) => Review::deny("accounts are deleted by hand"),
///         _ => Review::Allow,
///     }
/// }
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// let runner = turnwright_core::runner(executor).policy(review).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Review {
    /// The call may run.
    Allow,
    /// The call needs approval.
    #[non_exhaustive]
    Ask {
        /// The reason, shown to the approver.
        reason: String,
        /// The records that made the prompt untrusted or private, if that is the reason.
        sources: Vec<TaintSource>,
        /// Whether another principal than the one of the turn must approve: see [`Review::by_another`].
        by_another: bool,
    },
    /// The call must not run.
    #[non_exhaustive]
    Deny {
        /// The reason, for operators.
        reason: String,
        /// The records that made the prompt untrusted or private, if that is the reason.
        sources: Vec<TaintSource>,
    },
    /// The call may run with other arguments, which are checked again first.
    Rewrite(Value),
}

impl Review {
    /// Requires approval.
    pub fn ask(reason: impl Into<String>) -> Self {
        Review::Ask {
            reason: reason.into(),
            sources: Vec::new(),
            by_another: false,
        }
    }

    /// Denies the call.
    pub fn deny(reason: impl Into<String>) -> Self {
        Review::Deny {
            reason: reason.into(),
            sources: Vec::new(),
        }
    }

    /// Names the records because of which the policy asks or denies. They are stored and shown with the reason.
    #[must_use]
    pub(crate) fn with_sources(mut self, because: impl IntoIterator<Item = TaintSource>) -> Self {
        match &mut self {
            Review::Ask { sources, .. } | Review::Deny { sources, .. } => sources.extend(because),
            Review::Allow | Review::Rewrite(_) => {}
        }
        self
    }

    /// Demands that another principal approves than the one for whom the turn acts
    /// ([`TurnInput::principal`](crate::TurnInput::principal)): four eyes. Has no effect on other decisions than [`Review::Ask`].
    ///
    /// An approval must name [who gave it](crate::gate::GateAnswer::by). One that does not, or that names the principal of the
    /// turn, fails with `E_INVALID_TURN_GATE_RESOLUTION`, and the gate stays open. Everyone can deny. The call of a turn without a
    /// principal is denied. If the turn runs under a call of the turn whose policy this is, the principal of that turn, and of the
    /// turns in between, must not approve either.
    ///
    /// ```
    /// use turnwright_core::DispatchContext;
    /// use turnwright_core::tool::approval::{Review, policy};
    ///
    /// # let executor = |_: DispatchContext| async { Ok(()) };
    /// let four_eyes = policy(|call| match call.tool().name() {
    ///     "transfer" => Review::ask("it moves money").by_another(),
    ///     _ => Review::Allow,
    /// });
    /// let runner = turnwright_core::runner(executor).policy(four_eyes).build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    #[must_use]
    pub fn by_another(mut self) -> Self {
        if let Review::Ask { by_another, .. } = &mut self {
            *by_another = true;
        }
        self
    }

    /// Returns a request for approval with the reasons and sources of both requests.
    pub(crate) fn and_ask(mut self, other: Review) -> Self {
        if let (
            Review::Ask {
                reason,
                sources,
                by_another,
            },
            Review::Ask {
                reason: more,
                sources: added,
                by_another: another,
            },
        ) = (&mut self, other)
        {
            *by_another |= another;
            if *reason != more {
                reason.push_str("; ");
                reason.push_str(&more);
            }
            for source in added {
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
        self
    }
}

impl fmt::Debug for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Review::Allow => f.write_str("Allow"),
            Review::Ask { reason, .. } => f.debug_struct("Ask").field("reason", reason).finish(),
            Review::Deny { reason, .. } => f.debug_struct("Deny").field("reason", reason).finish(),
            Review::Rewrite(_) => f.write_str("Rewrite(..)"),
        }
    }
}
