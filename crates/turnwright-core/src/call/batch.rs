//! Runs calls to completion, alone or in a batch.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::Semaphore;

use super::admitted::Admitted;
use super::checked::Checked;
use super::guard::CallGuard;
use super::proposed::Refused;
use crate::effects::Concurrency;
use crate::record::{CallRequest, Record, ToolCall};
use crate::task::OnDrop;
use crate::telemetry;
use crate::tool::Tool;
use crate::tool::context::{Call, DispatchContext, Proposed};

type Decided = Result<Call<Admitted>, Call<Refused>>;

/// A call that was not checked yet, and its guard if it is recorded.
type Proposal = (Call, Option<CallGuard>);

impl Call<Proposed> {
    /// Runs the call to completion: checks, admits, runs and settles it. Every result, including failures, becomes the record.
    pub fn complete(self) -> impl Future<Output = Arc<ToolCall>> + Send {
        complete_one(self, None)
    }
}

impl Call<Checked> {
    async fn decide(self) -> Decided {
        self.ask_external().await?.admit().await
    }
}

impl Call<Admitted> {
    /// Runs the call and creates its record. Boxed, so that the future of a waiting call stays small.
    fn complete(self) -> Pin<Box<impl Future<Output = Arc<ToolCall>> + Send>> {
        Box::pin(async move { self.run().await.settle().await })
    }
}

impl DispatchContext {
    /// Runs calls that were proposed together and returns their records in the proposed order. Executors run tools with this
    /// method.
    ///
    /// Calls run concurrently, each in its own task, up to the limit of the runner. A call whose tool is
    /// [exclusive](crate::tool::Concurrency::Exclusive) waits for the calls before it, and the calls after it wait for it. A call that
    /// waits for approval does not count towards the limit.
    ///
    /// Whatever happens to a call becomes its record, which the model reads: an unknown tool, invalid arguments, a failure. It
    /// does not stop other calls. Each record is stored as soon as it exists. A call that is dropped is closed as interrupted.
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
    /// let text = calls[1].text().await.unwrap();
    /// assert!(text.contains("Did you mean `double`?"), "{text}");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    pub async fn call_tools(&self, proposed: impl IntoIterator<Item = Call>) -> Vec<Arc<ToolCall>> {
        // Calls run in this context, whichever one proposed them.
        let calls = proposed.into_iter().map(|call| call.in_context(self));
        let calls: Vec<Call> = calls.collect();
        match <[Call; 1]>::try_from(calls) {
            Ok([only]) => vec![only.complete().await],
            // Boxed, so that the future of a single call stays small.
            Err(several) => Box::pin(self.complete_several(several)).await,
        }
    }

    async fn complete_several(&self, calls: Vec<Call>) -> Vec<Arc<ToolCall>> {
        let mut records = Vec::with_capacity(calls.len());
        let mut left: Vec<Proposal> = calls.into_iter().map(|call| (call, None)).collect();
        while !left.is_empty() {
            let together = left.drain(..self.run_together(&left));
            let steps = together.map(|(call, guard)| Step::of(call, guard, None));
            let mut steps: Vec<Step> = steps.collect();
            // The later calls are recorded once, with the first group.
            let behind = if records.is_empty() {
                &mut *left
            } else {
                &mut []
            };
            put_on_record(self, &mut steps, behind).await;
            self.finish_together(steps, &mut records).await;
        }
        records
    }

    /// Returns how many of these calls, from the first on, may run concurrently.
    fn run_together(&self, calls: &[Proposal]) -> usize {
        let alone = |(call, _): &Proposal| {
            let tool = self.tools().get(&call.request.name);
            tool.is_some_and(|tool| tool.concurrency() == Concurrency::Exclusive)
        };
        match calls.iter().position(alone) {
            Some(0) => 1,
            Some(first) => first,
            None => calls.len(),
        }
    }

    async fn finish_together(&self, steps: Vec<Step>, records: &mut Vec<Arc<ToolCall>>) {
        let activity = self.turn().gates().activity();
        let _waits = activity.wait_for_calls();
        let places = Arc::new(Semaphore::new(self.turn().setup().parallel_calls));
        let tasks = steps.into_iter().map(|step| {
            let (id, places) = (step.id(), Arc::clone(&places));
            let counted = activity.begin_call(&id);
            let work = async move {
                let _counted = counted;
                step.finish(Some(&places)).await
            };
            let work = telemetry::here().instrument(self.turn().journal().tasks().track(work));
            let task = tokio::spawn(work);
            let abort = task.abort_handle();
            let abort = OnDrop(move || abort.abort());
            async move {
                let _abort = abort;
                // If a task was lost, use its record: each proposal has a result, in order.
                task.await
                    .ok()
                    .or_else(|| self.records().get::<ToolCall>(&id))
            }
        });
        let tasks: Vec<_> = tasks.collect();
        records.extend(join_all(tasks).await.into_iter().flatten());
    }
}

pub(super) async fn complete_one(call: Call, tool: Option<Tool>) -> Arc<ToolCall> {
    let ctx = call.ctx.clone();
    let activity = ctx.turn().gates().activity();
    let _counted = activity.begin_call(call.id());
    let mut step = match Step::of(call, None, tool) {
        Step::Admitted(admitted, _) if !activity.is_requested() => {
            let _waits = activity.wait_for_calls();
            return admitted.complete().await;
        }
        Step::Refused(refused, _) => return Box::pin(refused.settle(None)).await,
        Step::Settled(record) => return record,
        waiting => waiting,
    };
    Box::pin(put_on_record(
        &ctx,
        std::slice::from_mut(&mut step),
        &mut [],
    ))
    .await;
    let _waits = activity.wait_for_calls();
    Box::pin(step.finish(None)).await
}

type Decision = Pin<Box<dyn Future<Output = Decided> + Send>>;

/// The state of a call after the first check.
#[expect(
    clippy::large_enum_variant,
    reason = "most calls are admitted, and a step lives shortly"
)]
enum Step {
    Refused(Call<Refused>, Option<CallGuard>),
    Admitted(Call<Admitted>, Option<CallGuard>),
    /// Waits for an external check, a policy or an approver.
    Waiting(Box<Waiting>),
    /// Refused, and recorded as such.
    Settled(Arc<ToolCall>),
}

/// A call that waits for a decision.
struct Waiting {
    ctx: DispatchContext,
    request: Box<CallRequest>,
    decision: Decision,
    /// The decision, once it was made.
    decided: Option<Decided>,
    guard: Option<CallGuard>,
}

impl Step {
    /// Checks a call and polls its decision once. A pending decision is awaited later.
    fn of(call: Call, guard: Option<CallGuard>, tool: Option<Tool>) -> Self {
        let checked = match call.check_alone(tool) {
            // Neither an external check nor a policy applies.
            Ok(checked) if !checked.tool().has_checks() && !checked.is_reviewed() => {
                return Step::admitted(checked.admitted(), guard);
            }
            Ok(checked) => match checked.turn().no_call_left() {
                None => checked,
                // Do not request approval for a call that cannot run.
                Some(limit) => {
                    let name = checked.tool().name();
                    let error = checked.turn().refuse_call(name, &limit);
                    return Step::Refused(checked.refuse(error), guard);
                }
            },
            Err(refused) => return Step::Refused(refused, guard),
        };
        let (ctx, request) = (checked.ctx.clone(), checked.request.clone());
        let mut decision: Decision = Box::pin(checked.decide());
        match decision.as_mut().now_or_never() {
            Some(Ok(admitted)) => Step::admitted(admitted, guard),
            Some(Err(refused)) => Step::Refused(refused, guard),
            None => Step::Waiting(Box::new(Waiting {
                ctx,
                request,
                decision,
                decided: None,
                guard,
            })),
        }
    }

    /// Handles a call that may run if the budget allows it. Calls that need no decision take their budget in the proposed order.
    fn admitted(admitted: Call<Admitted>, guard: Option<CallGuard>) -> Self {
        match admitted.within_budget() {
            Ok(admitted) => Step::Admitted(admitted, guard),
            Err(refused) => Step::Refused(refused, guard),
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
        // Boxed, so that a future that waits for a decision does not hold the state of what follows.
        let admitted = match self {
            Step::Refused(refused, guard) => {
                return Box::pin(refused.settle(guard)).await;
            }
            Step::Settled(record) => return record,
            Step::Admitted(admitted, guard) => {
                if let Some(_open) = guard {
                    // Recorded but not started: the turn is being suspended.
                    let id = Some(admitted.id());
                    admitted.turn().wait_for_suspension(id).await;
                }
                admitted
            }
            Step::Waiting(mut waiting) => {
                let decided = match waiting.decided.take() {
                    Some(decided) => decided,
                    None => waiting.decision.as_mut().await,
                };
                if decided.is_ok() && waiting.ctx.turn().gates().activity().is_requested() {
                    let id = Some(waiting.request.id.as_str());
                    waiting.ctx.turn().wait_for_suspension(id).await;
                }
                match Box::pin(waiting.begin(decided)).await {
                    Ok(admitted) => admitted,
                    Err(record) => return record,
                }
            }
        };
        // Only calls that may run count towards the limit.
        let _place = match places {
            Some(places) => places.acquire().await.ok(),
            None => None,
        };
        admitted.complete().await
    }
}

impl Waiting {
    fn poll(&mut self, cx: &mut Context<'_>) {
        if self.decided.is_none()
            && let Poll::Ready(decided) = self.decision.as_mut().poll(cx)
        {
            if let (Err(refused), Some(guard)) = (&decided, &mut self.guard) {
                guard.refused(refused.settled());
            }
            self.decided = Some(decided);
        }
    }

    /// Starts the call after the decision, or returns the record of a call that does not run.
    async fn begin(self, decided: Decided) -> Result<Call<Admitted>, Arc<ToolCall>> {
        let decided = decided.and_then(Call::within_budget);
        match decided {
            Ok(mut admitted) => match admitted.begin(self.guard).await {
                Ok(()) => Ok(admitted),
                Err(error) => Err(admitted.not_run(error).settle().await),
            },
            Err(refused) => Err(refused.settle(self.guard).await),
        }
    }
}

/// Records calls in order and in one batch: those that may start as started, those that wait as open, refused ones with their
/// result, and the later ones as open.
async fn put_on_record(ctx: &DispatchContext, steps: &mut [Step], behind: &mut [Proposal]) {
    let mut records = Vec::with_capacity(2 * steps.len() + behind.len());
    // If the turn is being suspended, no call is started.
    let suspends = ctx.turn().gates().activity().is_requested();
    for step in &mut *steps {
        let refused = match step {
            Step::Admitted(admitted, guard) if suspends => {
                records.extend(open(ctx, &admitted.request, guard));
                continue;
            }
            Step::Admitted(admitted, guard) => {
                records.extend(admitted.open(guard.take()));
                continue;
            }
            Step::Waiting(waiting) => {
                records.extend(open(ctx, &waiting.request, &mut waiting.guard));
                continue;
            }
            Step::Settled(_) => continue,
            Step::Refused(refused, guard) => {
                if let Some(guard) = guard.take() {
                    guard.disarm();
                }
                refused.record()
            }
        };
        records.push(Record::ToolCall(Arc::clone(&refused)));
        *step = Step::Settled(refused);
    }
    for (call, guard) in behind {
        records.extend(open(ctx, &call.request, guard));
    }
    // If this fails, the turn fails and nothing runs. Meanwhile keep polling the decisions: they may hold a place in a queue that
    // the store waits in too.
    let mut written = pin!(ctx.put_on_record(records));
    poll_fn(|cx| {
        for step in &mut *steps {
            if let Step::Waiting(waiting) = step {
                waiting.poll(cx);
            }
        }
        written.as_mut().poll(cx)
    })
    .await;
}

/// Opens the record of a waiting call, unless that was already done.
fn open(
    ctx: &DispatchContext,
    request: &CallRequest,
    guard: &mut Option<CallGuard>,
) -> Option<Record> {
    if guard.is_some() {
        return None;
    }
    let record = ToolCall::open(request.clone(), request.checksum());
    *guard = Some(CallGuard::new(ctx, Some(Arc::clone(&record))));
    Some(Record::ToolCall(record))
}
