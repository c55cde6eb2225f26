//! Calls that are taken all the way, one or several together.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::admitted::AdmittedCall;
use super::checked::CheckedCall;
use super::guard::CallGuard;
use super::proposed::{ProposedCall, RefusedCall};
use crate::effects::Concurrency;
use crate::record::{CallRequest, CallState, Record, Settled, ToolCall};
use crate::telemetry;
use crate::tool::Tool;
use crate::tool::context::DispatchContext;

type Decided = Result<AdmittedCall, RefusedCall>;

impl ProposedCall {
    /// Takes the call all the way: checked, admitted, run, settled. Whatever happens becomes the record.
    pub fn complete(self) -> impl Future<Output = Arc<ToolCall>> + Send {
        complete_one(self, None)
    }

    pub(super) fn complete_for(self, tool: Tool) -> impl Future<Output = Arc<ToolCall>> + Send {
        complete_one(self, Some(tool))
    }
}

impl CheckedCall {
    /// Whether nobody else decides about it.
    fn is_decided(&self) -> bool {
        !self.tool().schema().has_external() && !self.is_reviewed()
    }

    async fn decide(self) -> Decided {
        self.ask_external().await?.admit().await
    }
}

impl AdmittedCall {
    /// Runs it and makes it a record. Apart, so that a call that waits for somebody does not carry the room for it.
    fn complete(self) -> Pin<Box<impl Future<Output = Arc<ToolCall>> + Send>> {
        Box::pin(async move { self.run().await.settle().await })
    }
}

impl DispatchContext {
    /// Has calls run that were proposed together, and gives their records in the proposed order: the one way for an executor
    /// to have tools run.
    ///
    /// They run side by side, each in a task of its own, within the runner's limit; one whose tool asks to run alone waits for
    /// those before it, and those after it wait. A call that waits for approval holds no place. Whatever happens to a call
    /// becomes its record, which the model reads: an unknown tool, arguments that are not JSON or do not pass, a failure. It
    /// stops no other call. Each record is stored when it is there; a call that is dropped on its way is closed as cut off.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
    /// use serde_json::{Value, json};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let double = Tool::dynamic("double", json!({
    ///         "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"],
    ///     }))
    ///     .description("Doubles a number.")
    ///     .handler(|args: Value, _: ToolContext| async move { (2 * args["n"].as_i64().unwrap_or(0)).to_string() })
    ///     .build()?;
    /// let ctx = DispatchContext::builder().tools(ToolRegistry::new([double])?).build();
    /// let calls = ctx.call_tools([
    ///     ctx.propose("double", r#"{"n": 4}"#),
    ///     ctx.propose("duble", r#"{"n": 5}"#),
    /// ]).await;
    /// assert_eq!(calls[0].text().await.as_deref(), Some("8"));
    /// let told = calls[1].text().await.unwrap();
    /// assert!(told.contains("Did you mean `double`?"), "{told}");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    pub async fn call_tools(
        &self,
        proposed: impl IntoIterator<Item = ProposedCall>,
    ) -> Vec<Arc<ToolCall>> {
        // They run here, whoever proposed them.
        let calls = proposed.into_iter().map(|call| call.in_context(self));
        let calls: Vec<ProposedCall> = calls.collect();
        match <[ProposedCall; 1]>::try_from(calls) {
            Ok([only]) => vec![only.complete().await],
            // Apart, so that one call alone does not carry the room for several.
            Err(several) => Box::pin(self.complete_several(several)).await,
        }
    }

    async fn complete_several(&self, calls: Vec<ProposedCall>) -> Vec<Arc<ToolCall>> {
        let mut records = Vec::with_capacity(calls.len());
        if Handle::try_current().is_err() {
            // Without a runtime there are no tasks: one after the other then.
            for call in calls {
                records.push(call.complete().await);
            }
            return records;
        }
        let mut left: VecDeque<Proposal> = calls.into_iter().map(Proposal::new).collect();
        while !left.is_empty() {
            let together = left.drain(..self.run_together(&left));
            let mut steps: Vec<Step> = together.map(|it| Step::of(it, None)).collect();
            // Once is enough for those that stand behind: then they are on record.
            let behind = match records.is_empty() {
                true => left.make_contiguous(),
                false => &mut [],
            };
            put_on_record(self, &mut steps, behind).await;
            self.finish_together(steps, &mut records).await;
        }
        records
    }

    /// How many of these calls, from the first on, may run side by side.
    fn run_together(&self, calls: &VecDeque<Proposal>) -> usize {
        let alone = |proposal: &Proposal| {
            let tool = self.tools().get(proposal.call.tool_name());
            tool.is_some_and(|tool| tool.concurrency() == Concurrency::Exclusive)
        };
        match calls.iter().position(alone) {
            Some(0) => 1,
            Some(first) => first,
            None => calls.len(),
        }
    }

    async fn finish_together(&self, steps: Vec<Step>, records: &mut Vec<Arc<ToolCall>>) {
        let places = Arc::new(Semaphore::new(self.setup().parallel_calls));
        let mut tasks = JoinSet::new();
        let ids: Vec<String> = steps.iter().map(Step::id).collect();
        for (at, step) in steps.into_iter().enumerate() {
            let places = Arc::clone(&places);
            let work = async move { (at, step.finish(Some(&places)).await) };
            tasks.spawn(telemetry::here().around(self.tasks().track(work)));
        }
        let mut finished: Vec<Option<Arc<ToolCall>>> = vec![None; ids.len()];
        while let Some(joined) = tasks.join_next().await {
            if let Ok((at, record)) = joined
                && let Some(place) = finished.get_mut(at)
            {
                *place = Some(record);
            }
        }
        // A task that was lost leaves what is on record: each proposal has its answer, in its place.
        let of_turn = |id: &String| self.tool_call(id);
        let all = finished.into_iter().zip(&ids);
        records.extend(all.filter_map(|(record, id)| record.or_else(|| of_turn(id))));
    }
}

/// A call that was not looked at yet, and what stands in the records of it, if something does.
struct Proposal {
    call: ProposedCall,
    closer: Option<CallGuard>,
}

impl Proposal {
    fn new(call: ProposedCall) -> Self {
        Proposal { call, closer: None }
    }
}

async fn complete_one(call: ProposedCall, tool: Option<Tool>) -> Arc<ToolCall> {
    match Step::of(Proposal::new(call), tool) {
        Step::Admitted(admitted, _) => admitted.complete().await,
        Step::Refused(refused, _) => Box::pin(refused.settle()).await,
        Step::Settled(record) => record,
        Step::Waiting(waiting) => {
            let (ctx, mut step) = (waiting.ctx.clone(), Step::Waiting(waiting));
            Box::pin(put_on_record(
                &ctx,
                std::slice::from_mut(&mut step),
                &mut [],
            ))
            .await;
            Box::pin(step.finish(None)).await
        }
    }
}

type Decision = Pin<Box<dyn Future<Output = Decided> + Send>>;

/// How far a call is that was looked at.
enum Step {
    Refused(RefusedCall, Option<CallGuard>),
    Admitted(AdmittedCall, Option<CallGuard>),
    /// Somebody else decides: an external check, a policy, a person.
    Waiting(Box<Waiting>),
    /// Refused, and on record as such.
    Settled(Arc<ToolCall>),
}

/// A call about which somebody else decides.
struct Waiting {
    ctx: DispatchContext,
    request: CallRequest,
    decision: Decision,
    /// What was decided, once it was.
    decided: Option<Decided>,
    closer: Option<CallGuard>,
}

impl Step {
    /// Looks at a call once. Nobody need be woken for it: what is not decided then is awaited later.
    fn of(proposal: Proposal, tool: Option<Tool>) -> Self {
        let Proposal { call, closer } = proposal;
        let checked = match call.check_alone(tool) {
            Ok(checked) if checked.is_decided() => {
                return Step::Admitted(checked.admitted(), closer);
            }
            Ok(checked) => checked,
            Err(refused) => return Step::Refused(refused, closer),
        };
        let (ctx, request) = (checked.context().clone(), checked.request().clone());
        let mut decision: Decision = Box::pin(checked.decide());
        match decision.as_mut().now_or_never() {
            Some(Ok(admitted)) => Step::Admitted(admitted, closer),
            Some(Err(refused)) => Step::Refused(refused, closer),
            None => Step::Waiting(Box::new(Waiting {
                ctx,
                request,
                decision,
                decided: None,
                closer,
            })),
        }
    }

    fn id(&self) -> String {
        match self {
            Step::Refused(refused, _) => refused.id().to_owned(),
            Step::Admitted(admitted, _) => admitted.id().to_owned(),
            Step::Waiting(waiting) => waiting.request.id.as_str().to_owned(),
            Step::Settled(record) => record.id().to_owned(),
        }
    }

    async fn finish(self, places: Option<&Semaphore>) -> Arc<ToolCall> {
        // What comes after a decision is kept apart: one who waits for it does not carry the room for that.
        let admitted = match self {
            Step::Refused(refused, closer) => {
                return Box::pin(settle_refused(refused, closer)).await;
            }
            Step::Settled(record) => return record,
            Step::Admitted(admitted, _) => admitted,
            Step::Waiting(mut waiting) => {
                let decided = match waiting.decided.take() {
                    Some(decided) => decided,
                    None => waiting.decision.as_mut().await,
                };
                match Box::pin(waiting.begin(decided)).await {
                    Ok(admitted) => admitted,
                    Err(record) => return record,
                }
            }
        };
        // Only one that may run takes a place.
        let _place = match places {
            Some(places) => places.acquire().await.ok(),
            None => None,
        };
        admitted.complete().await
    }
}

impl Waiting {
    fn look(&mut self, cx: &mut Context<'_>) {
        if self.decided.is_none()
            && let Poll::Ready(decided) = self.decision.as_mut().poll(cx)
        {
            if let (Err(refused), Some(closer)) = (&decided, &mut self.closer) {
                closer.refused(refused.error().model_text());
            }
            self.decided = Some(decided);
        }
    }

    /// Begins it, now that it was decided; the record of a call that does not run.
    async fn begin(self, decided: Decided) -> Result<AdmittedCall, Arc<ToolCall>> {
        match decided {
            Ok(mut admitted) => match admitted.begin(self.closer).await {
                Ok(()) => Ok(admitted),
                Err(error) => Err(admitted.not_run(error).settle().await),
            },
            Err(refused) => Err(settle_refused(refused, self.closer).await),
        }
    }
}

async fn settle_refused(refused: RefusedCall, closer: Option<CallGuard>) -> Arc<ToolCall> {
    let Some(closer) = closer else {
        return refused.settle().await;
    };
    let settled = Settled::refusal(refused.error().model_text());
    let record = closer.settle(settled, CallState::Failed).await;
    record.unwrap_or_else(|| refused.record())
}

/// Puts calls on record, in their order and in one batch: those that may start as begun, those that wait as open, those
/// that were refused as what they are, and those that stand behind them as open too.
async fn put_on_record(ctx: &DispatchContext, steps: &mut [Step], behind: &mut [Proposal]) {
    let mut records = Vec::with_capacity(2 * steps.len() + behind.len());
    for step in &mut *steps {
        let refused = match step {
            Step::Admitted(admitted, closer) => {
                records.extend(admitted.open(closer.take()));
                continue;
            }
            Step::Waiting(waiting) => {
                records.extend(open(ctx, &waiting.request, &mut waiting.closer));
                continue;
            }
            Step::Settled(_) => continue,
            Step::Refused(refused, closer) => {
                if let Some(closer) = closer.take() {
                    closer.disarm();
                }
                refused.record()
            }
        };
        records.push(Record::ToolCall(Arc::clone(&refused)));
        *step = Step::Settled(refused);
    }
    for proposal in behind {
        records.extend(open(ctx, proposal.call.request(), &mut proposal.closer));
    }
    // If this fails the turn does, and nothing is run any more. Meanwhile nobody who decides is left standing: they may be
    // next in a queue in which the store stands too.
    let mut written = pin!(ctx.put_on_record(records));
    poll_fn(|cx| {
        for step in &mut *steps {
            if let Step::Waiting(waiting) = step {
                waiting.look(cx);
            }
        }
        written.as_mut().poll(cx)
    })
    .await;
}

/// Opens the record of a call that waits, if that was not done yet.
fn open(
    ctx: &DispatchContext,
    request: &CallRequest,
    closer: &mut Option<CallGuard>,
) -> Option<Record> {
    if closer.is_some() {
        return None;
    }
    let record = ToolCall::open(request.clone(), request.checksum());
    *closer = Some(CallGuard::new(ctx, Some(Arc::clone(&record))));
    Some(Record::ToolCall(record))
}
