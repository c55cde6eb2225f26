//! Calls that may run.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::FutureExt as _;
use serde_json::Value;

use super::approval_gate::ask;
use super::checked::Checked;
use super::guard::{CallGuard, cancelled};
use super::proposed::Call;
use super::refused::Refused;
use crate::checksum;
use crate::deadline::{TimeLimit, within};
use crate::effects::Effects;
use crate::error::{Error, ErrorCode};
use crate::record::{CallState, Denial, LedgerEntry, Record};
use crate::tool::approval::{ApprovalPolicy, PendingCall, Review};
use crate::tool::context::Setup;
use crate::turn::CallPermit;

/// Maximum number of times that policies and approvers may change the arguments of one call.
const MAX_CHANGES: usize = 3;

/// The stage of a call that may run, with exactly the arguments that were checked and approved.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(super) checked: Checked,
    /// The guard of its records, once the call was opened.
    pub(super) guard: Option<CallGuard>,
    /// Its share of the budget, once it was taken.
    pub(super) permit: Option<CallPermit>,
}

impl Call<Checked> {
    /// Asks the policies of the dispatch and of the tool, and an approver if they require it. Changed arguments are checked again
    /// completely and reviewed again.
    ///
    /// # Errors
    /// Returns the refused call if it was not approved, or if changed arguments are invalid.
    pub(crate) async fn admit(self) -> Result<Call<Admitted>, Call<Refused>> {
        if !self.is_reviewed() {
            return Ok(self.admitted());
        }
        // Boxed, so that the future of a call without policies stays small.
        Box::pin(self.review()).await
    }

    /// Returns whether a policy applies to it.
    pub(super) fn is_reviewed(&self) -> bool {
        let reviews = |setup: &Arc<Setup>| !setup.policies.is_empty();
        self.stage.tool.approval().is_some() || self.turn().setups().any(reviews)
    }

    async fn review(self) -> Result<Call<Admitted>, Call<Refused>> {
        let mut checked = self;
        let mut granted: Option<Granted> = None;
        for _ in 0..=MAX_CHANGES {
            let (level, review) = decide(&checked.pending()).await;
            let (args, written) = match review {
                Review::Allow => return Ok(checked.admitted()),
                Review::Deny { reason, sources } => {
                    return Err(checked.deny(Denial { reason, sources }, None));
                }
                Review::Rewrite(args) => (args, None),
                Review::Ask { by_another, .. }
                    if granted.as_ref().is_some_and(|by| {
                        by.covers(level, by_another, checked.stage.args.value())
                    }) =>
                {
                    return Ok(checked.admitted());
                }
                Review::Ask {
                    reason,
                    sources,
                    by_another,
                } => {
                    let why = (reason.as_str(), sources.as_slice());
                    match ask(&checked.pending(), level, why, by_another).await {
                        Ok(None) => return Ok(checked.admitted()),
                        Err(reason) => {
                            let for_model = format!(
                                "The call was not approved. The tool was not run. Reason: {reason}"
                            );
                            let denial = Denial { reason, sources };
                            return Err(checked.deny(denial, Some(for_model)));
                        }
                        Ok(Some(args)) => (args, Some((level, by_another))),
                    }
                }
            };
            let rechecked = Box::pin(checked.recheck(args.into())).await;
            checked = rechecked.map_err(Call::not_as_changed)?;
            granted = written.map(|(level, by_another)| Granted {
                level,
                by_another,
                digest: checksum::digest_of(checked.stage.args.value()),
            });
        }
        let denial = Denial {
            reason: "its arguments were changed more than three times".to_owned(),
            sources: Vec::new(),
        };
        Err(checked.deny(denial, None))
    }

    pub(super) fn admitted(self) -> Call<Admitted> {
        self.enter(|checked| Admitted {
            checked,
            guard: None,
            permit: None,
        })
    }

    /// The view of the call for policies and approvers. It does not include the handler.
    fn pending(&self) -> PendingCall<'_> {
        PendingCall {
            record: &self.record,
            tool: &self.stage.tool,
            args: self.stage.args.value(),
            ctx: &self.ctx,
        }
    }

    fn deny(self, denial: Denial, for_model: Option<String>) -> Call<Refused> {
        if self.ctx.cancellation().is_cancelled() {
            let error = cancelled(&self.stage.tool, false);
            return self.refuse(error, None);
        }
        let error = Error::new(
            ErrorCode::TOOL_DENIED,
            format!(
                "`{}` was not approved: {}",
                self.stage.tool.name(),
                denial.reason
            ),
        );
        let error = match for_model {
            Some(text) => error.with_model_text(text),
            None => error,
        };
        self.refuse(error, Some(denial))
    }
}

/// Arguments that an approver wrote. They need no further approval, unless an outer policy requires one, or a policy requires
/// that of another principal, which was not required before.
struct Granted {
    /// The level at which the approval was requested.
    level: usize,
    /// Whether another principal than the one of the turn wrote them.
    by_another: bool,
    digest: String,
}

impl Granted {
    fn covers(&self, level: usize, by_another: bool, args: &Value) -> bool {
        self.level <= level
            && (self.by_another || !by_another)
            && self.digest == checksum::digest_of(args)
    }
}

/// Asks every policy, those of the outermost turn first and that of the tool last. The first one that denies or rewrites decides;
/// a single one that asks is enough to require approval, and the
/// approver sees the reasons of all that ask. Also returns the level of the policy that decided: 0 is the outermost
/// turn.
async fn decide(call: &PendingCall<'_>) -> (usize, Review) {
    let mut decided = (0, Review::Allow);
    let own_level = call.ctx.turn().setups().count().saturating_sub(1);
    for (level, setup) in call.ctx.turn().setups().enumerate() {
        let of_tool = call.tool.approval().filter(|_| level == own_level);
        for policy in setup.policies.iter().chain(of_tool) {
            match review(call, policy).await {
                Review::Allow => {}
                ask @ Review::Ask { .. } => {
                    decided = match decided {
                        (_, Review::Allow) => (level, ask),
                        (at, asked) => (at, asked.and_ask(ask)),
                    };
                }
                Review::Rewrite(args) if is_unchanged(call, &args) => {}
                deciding @ (Review::Deny { .. } | Review::Rewrite(_)) => return (level, deciding),
            }
        }
    }
    decided
}

/// Returns whether these arguments, once checked, equal those of the call. A policy that repeats the arguments changes nothing.
fn is_unchanged(call: &PendingCall<'_>, args: &Value) -> bool {
    let checked = || call.tool.probe(args);
    args == call.args || checked().is_ok_and(|checked| checked.value() == call.args)
}

async fn review(call: &PendingCall<'_>, policy: &Arc<dyn ApprovalPolicy>) -> Review {
    let reviewed = AssertUnwindSafe(async { policy.review(call).await }).catch_unwind();
    match within(TimeLimit::none(), call.ctx.cancellation(), reviewed).await {
        Ok(Ok(review)) => review,
        Ok(Err(_)) => Review::deny("the policy panicked"),
        Err(_) => Review::deny("the dispatch was cancelled"),
    }
}

impl Call<Admitted> {
    /// Returns whether the call may write, and so must be in the ledger before it runs.
    pub(super) fn needs_ledger_entry(&self) -> bool {
        self.stage.checked.tool.effects() != Effects::ReadOnly
    }

    /// Takes the call from the budgets of its turn and of the outer turns, unless that was already done.
    ///
    /// # Errors
    /// Returns `E_TURN_LIMIT` if a budget is used up. The call must not run then.
    pub(super) fn take_permit(&mut self) -> Result<(), Error> {
        if self.stage.permit.is_none() {
            let name = self.stage.checked.tool.name();
            self.stage.permit = Some(self.turn().take_call(name)?);
        }
        Ok(())
    }

    /// Like [`take_permit`](Self::take_permit), for a call that is not recorded yet.
    pub(super) fn within_budget(mut self) -> Result<Self, Call<Refused>> {
        match self.take_permit() {
            Ok(()) => Ok(self),
            Err(error) => Err(self.refuse(error, None)),
        }
    }

    /// Opens the records of the call. Returns what must be stored before it runs.
    pub(super) fn open(&mut self, guard: Option<CallGuard>) -> Vec<Record> {
        let checked = &self.stage.checked;
        let mut records = Vec::new();
        let mut guard = guard.unwrap_or_else(|| {
            records.extend(self.recorded.then(|| Arc::clone(&self.record).into()));
            CallGuard::new(&self.ctx, &self.record, self.recorded)
        });
        // Without a store, there is no ledger.
        let in_ledger = self.needs_ledger_entry() && self.turn().record_store().is_some();
        let entry = in_ledger.then(|| Arc::new(self.ledger_entry()));
        records.extend(entry.clone().map(Record::from));
        let edited = checked.edited.then(|| checked.args.value().clone());
        guard.admitted(&checked.tool, edited, entry);
        self.stage.guard = Some(guard);
        records
    }

    /// Starts the call, unless that was already done.
    ///
    /// # Errors
    /// Returns an error if the call could not be recorded. It must not run then.
    pub(super) async fn begin(&mut self, guard: Option<CallGuard>) -> Result<(), Error> {
        if self.stage.guard.is_some() {
            return Ok(());
        }
        let records = self.open(guard);
        if self.ctx.put_on_record(records).await {
            Ok(())
        } else {
            Err(not_recorded())
        }
    }

    fn ledger_entry(&self) -> LedgerEntry {
        let (call, checked) = (&self.record, &self.stage.checked);
        LedgerEntry {
            idempotency_key: self.ctx.idempotency_key(call),
            turn_id: Arc::clone(self.turn().shared_id()),
            tool_call: call.id().to_owned(),
            checksum: call.checksum().to_owned(),
            ordinal: call.ordinal(),
            tool: Arc::clone(&call.tool),
            fingerprint: checked.tool.fingerprint().to_owned(),
            args: checked.args.value().clone(),
            state: CallState::Started,
            started_at: SystemTime::now(),
            ended_at: None,
        }
    }
}

/// A call that could not be recorded must not run.
fn not_recorded() -> Error {
    Error::new(
        ErrorCode::STORE_ERROR,
        "the store failed to record the call before it started",
    )
    .with_model_text("The call could not be recorded. The tool was not run.")
}
