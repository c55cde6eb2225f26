//! Runs calls to completion, alone or in a batch.

use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::Semaphore;
use tokio::task::JoinError;

use super::admitted::Admitted;
use super::checked::Checked;
use super::guard::CallGuard;
use super::proposed::Call;
use super::refused::Refused;
use crate::effects::Concurrency;
use crate::error::Error;
use crate::record::{Record, ToolCall};
use crate::schema::RawArgs;
use crate::task::OnDrop;
use crate::telemetry;
use crate::tool::context::DispatchContext;
use crate::tool::{Tool, ToolOutput};

type Decided = Result<Call<Admitted>, Call<Refused>>;

/// A call that was not checked yet, and its guard if it is recorded.
type Proposal = (Call, Option<CallGuard>);

impl Call {
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
    /// Proposes one call and runs it to completion: see [`DispatchContext::call_tools`].
    pub async fn call(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Arc<ToolCall> {
        self.propose(tool, args).complete().await
    }

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
        let calls = proposed.into_iter().map(|mut call| {
            call.ctx = self.clone();
            call
        });
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
            let mut steps: Vec<CheckedCall> = together.map(CheckedCall::of).collect();
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
            let tool = self.tools().get(call.record.tool());
            tool.is_some_and(|tool| tool.concurrency() == Concurrency::Exclusive)
        };
        match calls.iter().position(alone) {
            Some(0) => 1,
            Some(first) => first,
            None => calls.len(),
        }
    }

    async fn finish_together(&self, steps: Vec<CheckedCall>, records: &mut Vec<Arc<ToolCall>>) {
        let activity = self.turn().gates().activity();
        let _waits = activity.wait_for_calls();
        let places = Arc::new(Semaphore::new(self.turn().setup().parallel_calls));
        let tasks = steps.into_iter().map(|step| {
            let (id, places) = (step.id.clone(), Arc::clone(&places));
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
                match task.await.map_err(JoinError::try_into_panic) {
                    Ok(record) => Some(record),
                    // It fails the turn.
                    Err(Ok(panic)) => resume_unwind(panic),
                    // The task was lost. Each proposal has a result, in order.
                    Err(Err(_)) => self.records().get::<ToolCall>(&id),
                }
            }
        });
        let tasks: Vec<_> = tasks.collect();
        records.extend(join_all(tasks).await.into_iter().flatten());
    }
}

async fn complete_one(call: Call, tool: Option<Tool>) -> Arc<ToolCall> {
    let (ctx, id) = (call.ctx.clone(), call.id().to_owned());
    let activity = ctx.turn().gates().activity();
    let _counted = activity.begin_call(&id);
    let progress = match Progress::of(call, tool) {
        Progress::Decided(Ok(admitted)) if !activity.is_requested() => {
            let _waits = activity.wait_for_calls();
            return admitted.complete().await;
        }
        Progress::Decided(Err(refused)) => return Box::pin(refused.settle(None)).await,
        progress => progress,
    };
    let guard = None;
    let mut only = [CheckedCall {
        id,
        guard,
        progress,
    }];
    Box::pin(put_on_record(&ctx, &mut only, &mut [])).await;
    let _waits = activity.wait_for_calls();
    let [only] = only;
    Box::pin(only.finish(None)).await
}

/// A call of a batch after the first check.
struct CheckedCall {
    id: String,
    /// Holds the record while the call is open and was not started.
    guard: Option<CallGuard>,
    progress: Progress,
}

type Decision = Pin<Box<dyn Future<Output = Decided> + Send>>;

enum Progress {
    Decided(Decided),
    /// Waits for an external check, a policy or an approver.
    Undecided(Arc<ToolCall>, Decision),
    /// Refused, and recorded as such.
    Settled(Arc<ToolCall>),
}

impl Progress {
    /// Checks a call and polls its decision once. A pending decision is awaited later. Calls that need no decision take their budget
    /// in the proposed order.
    fn of(call: Call, tool: Option<Tool>) -> Self {
        let checked = match call.check_alone(tool) {
            Err(refused) => return Progress::Decided(Err(refused)),
            // Neither an external check nor a policy applies.
            Ok(checked) if !checked.stage.tool.has_checks() && !checked.is_reviewed() => {
                return Progress::Decided(checked.admitted().within_budget());
            }
            Ok(checked) => checked,
        };
        // Do not request approval for a call that cannot run.
        if let Some(limit) = checked.turn().no_call_left() {
            let error = checked
                .turn()
                .refuse_call(checked.stage.tool.name(), &limit);
            return Progress::Decided(Err(checked.refuse(error, None)));
        }
        let record = Arc::clone(&checked.record);
        let mut decision: Decision = Box::pin(checked.decide());
        match decision.as_mut().now_or_never() {
            Some(decided) => Progress::Decided(decided.and_then(Call::within_budget)),
            None => Progress::Undecided(record, decision),
        }
    }
}

impl CheckedCall {
    fn of((call, guard): Proposal) -> Self {
        CheckedCall {
            id: call.id().to_owned(),
            guard,
            progress: Progress::of(call, None),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) {
        if let Progress::Undecided(_, decision) = &mut self.progress
            && let Poll::Ready(decided) = decision.as_mut().poll(cx)
        {
            if let (Err(refused), Some(guard)) = (&decided, &mut self.guard) {
                guard.refused(refused.settled());
            }
            self.progress = Progress::Decided(decided);
        }
    }

    async fn finish(self, places: Option<&Semaphore>) -> Arc<ToolCall> {
        let decided = match self.progress {
            Progress::Settled(record) => return record,
            Progress::Decided(decided) => decided,
            Progress::Undecided(_, decision) => decision.await,
        };
        // Boxed, so that a future that waits for a decision does not hold the state of what follows.
        let admitted = match (decided, self.guard) {
            (Err(refused), guard) => return Box::pin(refused.settle(guard)).await,
            (Ok(admitted), None) => admitted,
            (Ok(admitted), Some(guard)) => match Box::pin(begin(admitted, guard)).await {
                Ok(admitted) => admitted,
                Err(record) => return record,
            },
        };
        // Only calls that may run count towards the limit.
        let _place = match places {
            Some(places) => places.acquire().await.ok(),
            None => None,
        };
        admitted.complete().await
    }
}

/// Starts a call whose record is open, or returns the record if it does not run.
async fn begin(
    admitted: Call<Admitted>,
    guard: CallGuard,
) -> Result<Call<Admitted>, Arc<ToolCall>> {
    if admitted.turn().gates().activity().is_requested() {
        let id = Some(admitted.id());
        admitted.turn().wait_for_suspension(id).await;
    }
    match admitted.within_budget() {
        Ok(mut admitted) => match admitted.begin(Some(guard)).await {
            Ok(()) => Ok(admitted),
            Err(error) => Err(admitted.not_run(error).settle().await),
        },
        Err(refused) => Err(refused.settle(Some(guard)).await),
    }
}

/// Records calls in order and in one batch: those that may start as started, those that wait as open, refused ones with their
/// result, and the later ones as open.
async fn put_on_record(ctx: &DispatchContext, steps: &mut [CheckedCall], behind: &mut [Proposal]) {
    let mut records = Vec::with_capacity(2 * steps.len() + behind.len());
    // If the turn is being suspended, no call is started.
    let suspends = ctx.turn().gates().activity().is_requested();
    for step in &mut *steps {
        match &mut step.progress {
            Progress::Decided(Ok(admitted)) if !suspends => {
                records.extend(admitted.open(step.guard.take()));
            }
            Progress::Decided(Ok(Call { record, .. })) | Progress::Undecided(record, _) => {
                records.extend(open(ctx, record, &mut step.guard));
            }
            Progress::Decided(Err(refused)) => {
                if let Some(guard) = step.guard.take() {
                    guard.disarm();
                }
                let refused = refused.record();
                records.push(Record::ToolCall(Arc::clone(&refused)));
                step.progress = Progress::Settled(refused);
            }
            Progress::Settled(_) => {}
        }
    }
    for (call, guard) in behind {
        let checksum = call.record.raw_checksum();
        call.record_mut().checksum = checksum;
        records.extend(open(ctx, &call.record, guard));
    }
    // If this fails, the turn fails and nothing runs. Meanwhile keep polling the decisions: they may hold a place in a queue that
    // the store waits in too.
    let mut written = pin!(ctx.put_on_record(records));
    poll_fn(|cx| {
        steps.iter_mut().for_each(|step| step.poll(cx));
        written.as_mut().poll(cx)
    })
    .await;
}

/// Opens the record of a waiting call, unless that was already done.
fn open(
    ctx: &DispatchContext,
    record: &Arc<ToolCall>,
    guard: &mut Option<CallGuard>,
) -> Option<Record> {
    if guard.is_some() {
        return None;
    }
    *guard = Some(CallGuard::new(ctx, record, true));
    Some(Record::ToolCall(Arc::clone(record)))
}

impl Tool {
    /// Calls this tool and returns the output of its handler. The arguments are checked, policies and approvers decide, and the
    /// handler runs, as for a call of a model. The call is not recorded.
    ///
    /// `max_result_bytes` does not apply: the caller reads a streamed output and can stop at any time.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use turnwright_core::{DispatchContext, Tool, ToolContext};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let ping = Tool::dynamic("ping", json!({ "type": "object" }))
    ///     .description("Answers.")
    ///     .handler(|_: Value, _: ToolContext| async { "pong" })
    ///     .build()?;
    /// let output = ping.call(&DispatchContext::standalone(), "{}").await?;
    /// assert_eq!(output.as_text(), Some("pong"));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns an error if the arguments are invalid (`E_INVALID_TOOL_ARGS`), the call was denied, or the handler failed, timed
    /// out or was cancelled.
    ///
    /// # Cancel safety
    /// If the future is dropped, the handler's future is dropped with it. A blocking handler is detached.
    pub async fn call(
        &self,
        ctx: &DispatchContext,
        args: impl Into<RawArgs>,
    ) -> Result<ToolOutput, Error> {
        let mut proposed = self.propose(ctx, args.into());
        proposed.recorded = false;
        let checked = proposed.check_alone(Some(self.clone()));
        let checked = checked.map_err(Call::into_error)?;
        let checked = checked.ask_external().await;
        let checked = checked.map_err(Call::into_error)?;
        let admitted = checked.admit().await.map_err(Call::into_error)?;
        admitted.run().await.into_result().await
    }

    /// Calls this tool and returns the record of the call, which is added to the turn and stored. Every result is in the record,
    /// including invalid arguments, a denial or a failure.
    ///
    /// To call a tool of the turn by name, use [`DispatchContext::call`].
    pub async fn call_and_record(
        &self,
        ctx: &DispatchContext,
        args: impl Into<RawArgs>,
    ) -> Arc<ToolCall> {
        complete_one(self.propose(ctx, args.into()), Some(self.clone())).await
    }

    fn propose(&self, ctx: &DispatchContext, args: RawArgs) -> Call {
        Call::new(ctx.clone(), Arc::clone(self.shared_name()), args)
    }
}
