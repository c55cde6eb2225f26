//! Recovers calls that were open when their process ended.

use std::sync::Arc;

use futures_util::future::join_all;
use indexmap::IndexMap;

use super::guard::{CallGuard, describe};
use super::proposed::Call;
use super::results::through_hooks;
use super::run::Ran;
use crate::deadline::{TimeLimit, within};
use crate::ids::CALL_ID_LEN;
use crate::record::{CallState, LedgerEntry, Record, Settled, ToolCall, ToolResults};
use crate::task::OnDrop;
use crate::tool::ToolOutput;
use crate::tool::context::{DispatchContext, Mark};
use crate::tool::reconcile::{Finding, Reconcile, UnknownCall};

/// The result of a call that a dead process left open, for the model.
pub(crate) fn left_open(started: bool) -> Settled {
    let text = if started {
        "The process ended while the call was running. It may or may not have taken effect. Check before you repeat it."
    } else {
        "The process ended before the call had a result. Nothing was changed. Repeat the call if you need it."
    };
    Settled::framework(ToolResults::Failure(text.to_owned()))
}

/// The result of a call that waited in a suspended turn that was given up, for the model.
pub(super) fn not_approved() -> Settled {
    let text = "The call was not approved before the conversation continued. Nothing was changed. Do not repeat it unless \
                you are asked to.";
    Settled::refusal(text)
}

/// The open calls of a turn that ended without closing them.
#[derive(Default)]
pub(crate) struct OpenCalls {
    /// In order.
    calls: Vec<Arc<ToolCall>>,
    /// The ledger entries that were started, by the ids of their calls.
    started: IndexMap<String, Arc<LedgerEntry>>,
    next_ordinal: u64,
}

impl OpenCalls {
    pub(crate) fn add_entry(&mut self, entry: Arc<LedgerEntry>) {
        self.count(entry.ordinal);
        if entry.is_open() {
            self.started.insert(entry.tool_call.to_owned(), entry);
        }
    }

    pub(crate) fn add_call(&mut self, call: &Arc<ToolCall>) {
        self.count(call.ordinal());
        if call.is_open() {
            self.calls.push(Arc::clone(call));
        }
    }

    fn count(&mut self, ordinal: Option<u64>) {
        let next = ordinal.map_or(0, |ordinal| ordinal.saturating_add(1));
        self.next_ordinal = self.next_ordinal.max(next);
    }

    /// Returns the next ordinal for calls of the turn.
    pub(crate) fn next_ordinal(&self) -> u64 {
        self.next_ordinal
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.started.is_empty()
    }

    /// Closes the calls of a turn that is given up. Also returns of how many it is unknown whether they took effect: of those that
    /// were started, or of all if the ledger is damaged.
    pub(crate) fn abandoned(self, doubtful: bool, suspended: bool) -> (Vec<Record>, usize) {
        let entries = self.started.values();
        let mut closed: Vec<Record> = entries
            .map(|entry| entry.ended(CallState::Unknown).into())
            .collect();
        let mut unknown = closed.len();
        for call in self.calls {
            let has_entry = self.started.contains_key(call.id());
            unknown += usize::from(doubtful && !has_entry);
            let settled = if suspended && !doubtful && !has_entry {
                not_approved()
            } else {
                left_open(doubtful || has_entry)
            };
            closed.push(call.closed(settled).into());
        }
        (closed, unknown)
    }
}

impl DispatchContext {
    /// Closes the open calls of a resumed turn: reconciles those that may have taken effect, and runs the others to completion.
    pub(crate) async fn settle_open_calls(&self, open: OpenCalls) {
        let OpenCalls {
            calls, mut started, ..
        } = open;
        let calls = calls.into_iter().map(|call| {
            let entry = started.shift_remove(call.id());
            (Some(call), entry)
        });
        let mut open: Vec<_> = calls.collect();
        // Calls without a record have a ledger entry too.
        let mut unrecorded: Vec<_> = started.into_values().collect();
        unrecorded.sort_by(|one, other| one.id().cmp(other.id()));
        open.extend(unrecorded.into_iter().map(|entry| (None, Some(entry))));
        let activity = self.turn().gates().activity();
        let waits = activity.wait_for_calls();
        let findings = open.iter().map(async |(_, entry)| match entry {
            Some(entry) => self.reconcile(entry).await,
            // It had not started, or it is read-only.
            None => Finding::NotDone,
        });
        // If this is interrupted, everything stays as it is for the next process that resumes or abandons the turn.
        let interrupted = OnDrop(|| self.turn().journal().mark(Mark::Incomplete));
        let findings = join_all(findings).await;
        drop(waits);
        if self.cancellation().is_cancelled() {
            return;
        }
        std::mem::forget(interrupted);
        let (mut run, mut records, mut done) = (Vec::new(), Vec::new(), Vec::new());
        for ((call, entry), finding) in open.into_iter().zip(findings) {
            let proposed = call.as_ref().and_then(|call| Call::again(self, call));
            match (finding, proposed, call, entry) {
                (Finding::NotDone, Some(proposed), _, _) => run.push(proposed),
                (Finding::Done(output), _, Some(call), Some(entry)) => {
                    self.turn().limits().count_call();
                    done.push((call, entry, output));
                }
                // Unknown whether it took effect.
                (_, _, call, Some(entry)) => {
                    self.turn().limits().count_call();
                    records.push(Record::from(entry.ended(CallState::Unknown)));
                    let gates = self.turn().gates().recorded();
                    let gates = gates.unanswered(Some(&entry.tool_call));
                    records.extend(gates.into_iter().map(Record::from));
                    records.extend(call.map(|call| call.closed(left_open(true)).into()));
                }
                // It cannot run and never did.
                (_, _, call, None) => {
                    records.extend(call.map(|call| call.closed(left_open(false)).into()));
                }
            }
        }
        self.put_on_record(records).await;
        for (call, entry, output) in done {
            self.settle_done(call, entry, output).await;
        }
        self.call_tools(run).await;
    }

    /// Asks the tool, then the reconciler of the runner.
    async fn reconcile(&self, entry: &Arc<LedgerEntry>) -> Finding {
        let _counted = self.turn().gates().activity().begin_call(&entry.tool_call);
        let tool = self.tools().get(&entry.tool);
        let timeout = tool.as_ref().and_then(crate::Tool::timeout);
        if let Some(own) = tool.as_ref().and_then(crate::Tool::reconciler) {
            match self
                .ask_one(&**own, entry, TimeLimit::from_now(timeout))
                .await
            {
                Finding::Unknown => {}
                found => return found,
            }
        }
        match &self.turn().setup().unknown_calls {
            Some(policy) => self.ask_one(&**policy, entry, TimeLimit::none()).await,
            None => Finding::Unknown,
        }
    }

    async fn ask_one(
        &self,
        policy: &dyn Reconcile,
        entry: &Arc<LedgerEntry>,
        time: TimeLimit<'_>,
    ) -> Finding {
        let asked = async { policy.reconcile(UnknownCall::new(self, entry)).await };
        let why = match within(time, self.cancellation(), asked).await {
            Ok(Ok(finding)) => return finding,
            Ok(Err(error)) => error.to_string(),
            Err(cut) => describe(cut).1,
        };
        let tool = &entry.tool;
        self.turn()
            .warn(format!("reconciling a call of `{tool}` failed: {why}"));
        Finding::Unknown
    }

    /// Records a call that is known to have taken effect.
    async fn settle_done(&self, call: Arc<ToolCall>, entry: Arc<LedgerEntry>, output: ToolOutput) {
        let proposed = Call::again(self, &call);
        let checked = proposed.and_then(|proposed| proposed.check_alone(None).ok());
        let checked = match checked {
            // A policy or an approver had changed them.
            Some(checked) if *checked.stage.args.value() != entry.args => {
                checked.recheck(entry.args.clone().into()).await.ok()
            }
            checked => checked,
        };
        let Some(checked) = checked else {
            let text = "The call took effect, but its result cannot be shown because the tool has changed since.";
            let settled = Settled::framework(ToolResults::Failure(text.to_owned()));
            let closed = call.closed(settled);
            let records = vec![entry.ended(CallState::Done).into(), closed.into()];
            self.put_on_record(records).await;
            return;
        };
        let mut guard = CallGuard::new(self, &call, true);
        guard.admitted(&checked.stage.tool, None, Some(entry));
        guard.handler_started();
        let (call, _) = checked.admitted().start();
        let ran = Ran {
            result: through_hooks(&call, Ok(output)).await,
            call,
            guard: Some(guard),
            state: CallState::Done,
            started: true,
        };
        ran.settle().await;
    }
}

impl Call {
    /// Recreates the call of a record, with the same ids. `None` if the record was not created by the call path.
    fn again(ctx: &DispatchContext, record: &Arc<ToolCall>) -> Option<Self> {
        let is_own = record.ordinal().is_some() && record.id().len() == CALL_ID_LEN;
        // It was part of a complete response.
        is_own.then(|| Call::of(ctx.clone(), Arc::clone(record), true))
    }
}
