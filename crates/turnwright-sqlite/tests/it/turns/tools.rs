//! The tools of the script. Each records when its handler starts and ends. Those that write leave their idempotency
//! key in the world, once per run.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::sleep;
use turnwright_core::gate::TurnGate;
use turnwright_core::schema::Rejection;
use turnwright_core::tool::Concurrency;
use turnwright_core::tool::approval::always;
use turnwright_core::tool::approval::{ApprovalPolicy, PendingCall, Review};
use turnwright_core::tool::reconcile::{Finding, Reconcile as _, UnknownCall, ask_operator};
use turnwright_core::{BoxError, Effects, Tool, ToolBuilder, ToolContext, ToolError};

use super::stages::Stage;
use super::world::World;

/// Long enough for a kill to happen meanwhile.
const MOMENT: Duration = Duration::from_millis(2);

/// Tools whose calls can be reconciled.
pub(crate) const RECONCILABLE: &[&str] = &["transfer", "wire"];
/// Tools that only read, including artifact tools.
pub(crate) const READERS: &[&str] = &["look_up", "ask", "report", "artifact_grep", "artifact_head"];

/// Returns the result of a successful call.
pub(crate) fn result(tool: &str, n: &Value) -> String {
    match tool {
        "report" | "export" => (0..1_000)
            .map(|item| format!("line {item} of {n}\n"))
            .collect(),
        "artifact_grep" => "700:line 700 of 1".to_owned(),
        "artifact_head" => "line 0 of 1".to_owned(),
        _ => format!("{tool} {n}: fine"),
    }
}

/// Returns `true` if the result is large and goes into the spool.
pub(crate) fn is_large(tool: &str) -> bool {
    matches!(tool, "report" | "export")
}

/// Returns the output of a handler. A large output names its process.
fn output_of(world: &World, tool: &str, n: &Value) -> String {
    let mut text = result(tool, n);
    if is_large(tool) {
        text.push_str(&signature(world.orders().life));
    }
    text
}

pub(crate) fn signature(life: u32) -> String {
    format!("by process {life}\n")
}

pub(crate) fn all(world: &Arc<World>) -> Vec<Tool> {
    let reads = |name| tool(name).effects(Effects::ReadOnly);
    let look_up = reads("look_up").handler(handler(world, read));
    let report = reads("report").handler(handler(world, read));
    let ask = reads("ask").handler(handler(world, ask));
    let pay = tool("pay").handler(handler(world, write));
    let alone = tool("alone").concurrency(Concurrency::Exclusive);
    let alone = alone.handler(handler(world, write));
    let remove = tool("remove").approval(always("it is gone then"));
    let remove = remove.handler(handler(world, write));
    let confirm = tool("confirm").handler(handler(world, confirm));
    let blocking = Arc::clone(world);
    let export = tool("export").handler_blocking(move |args: Value, ctx: ToolContext| {
        let started = start(&blocking, &ctx);
        effect(&blocking, &ctx);
        std::thread::sleep(MOMENT);
        end(&blocking, &ctx, &started);
        output_of(&blocking, "export", &args["n"])
    });
    let found_out = Arc::clone(world);
    let transfer = tool("transfer").handler(handler(world, write));
    let transfer = transfer.reconcile(move |call: UnknownCall| {
        let world = Arc::clone(&found_out);
        async move {
            world.arrive(
                Stage::FindingOut,
                call.dispatch().conversation_id().as_str(),
            );
            sleep(MOMENT).await;
            Ok::<_, BoxError>(if world.has_effect(call.idempotency_key()) {
                Finding::done(result("transfer", &call.args()["n"]))
            } else {
                Finding::NotDone
            })
        }
    });
    let wire = tool("wire").handler(handler(world, write));
    let (checking, reviewing) = (Arc::clone(world), Arc::clone(world));
    let book = tool("book").check("is_free", move |_: Value| {
        let world = Arc::clone(&checking);
        async move {
            world.arrive(Stage::Checked, "checked");
            sleep(MOMENT).await;
            Ok::<_, Rejection>(())
        }
    });
    let book = book.approval(Reviewer(reviewing));
    let book = book.handler(handler(world, write));
    let all = [
        look_up, report, ask, pay, alone, remove, confirm, export, transfer, wire, book,
    ];
    all.map(|tool| tool.build().unwrap()).into()
}

/// Reconciles a call: a `wire` is known, others are not.
pub(crate) async fn reconcile_unknown(call: UnknownCall) -> Result<Finding, BoxError> {
    match call.tool_name() {
        "wire" => ask_operator().reconcile(call).await,
        _ => Ok(Finding::Unknown),
    }
}

fn tool(name: &str) -> ToolBuilder<Value> {
    let schema = json!({
        "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"],
        "additionalProperties": false,
    });
    Tool::dynamic(name, schema).description(format!("Does the work of {name}."))
}

type Work<Fut> = fn(Arc<World>, Value, ToolContext) -> Fut;

fn handler<Fut>(
    world: &Arc<World>,
    work: Work<Fut>,
) -> impl Fn(
    Value,
    ToolContext,
) -> std::pin::Pin<Box<dyn Future<Output = Result<String, ToolError>> + Send>>
+ Send
+ Sync
+ 'static
where
    Fut: Future<Output = Result<(), ToolError>> + Send + 'static,
{
    let world = Arc::clone(world);
    move |args, ctx| {
        let world = Arc::clone(&world);
        Box::pin(async move {
            let started = start(&world, &ctx);
            let output = output_of(&world, ctx.tool().name(), &args["n"]);
            work(Arc::clone(&world), args, ctx.clone()).await?;
            end(&world, &ctx, &started);
            Ok(output)
        })
    }
}

fn start(world: &World, ctx: &ToolContext) -> String {
    let key = ctx.idempotency_key();
    world.note("start", &[&key, ctx.id(), ctx.tool().name()]);
    key
}

fn end(world: &World, ctx: &ToolContext, key: &str) {
    world.note("end", &[key, ctx.id(), ctx.tool().name()]);
}

fn effect(world: &World, ctx: &ToolContext) {
    world.arrive(Stage::BeforeEffect, ctx.conversation_id().as_str());
    world.take_effect(&ctx.idempotency_key());
    world.arrive(Stage::AfterEffect, ctx.conversation_id().as_str());
}

async fn read(_: Arc<World>, _: Value, _: ToolContext) -> Result<(), ToolError> {
    sleep(MOMENT).await;
    Ok(())
}

async fn write(world: Arc<World>, _: Value, ctx: ToolContext) -> Result<(), ToolError> {
    sleep(MOMENT).await;
    effect(&world, &ctx);
    sleep(MOMENT).await;
    Ok(())
}

async fn ask(_: Arc<World>, _: Value, ctx: ToolContext) -> Result<(), ToolError> {
    let gate = TurnGate::new("which").question("Which one?").build()?;
    match ctx.wait_for(gate).await? {
        Value::Bool(true) => Ok(()),
        other => Err(ToolError::internal(format!(
            "an unexpected answer: {other}"
        ))),
    }
}

async fn confirm(world: Arc<World>, args: Value, ctx: ToolContext) -> Result<(), ToolError> {
    ask(Arc::clone(&world), args.clone(), ctx.clone()).await?;
    write(world, args, ctx).await
}

struct Reviewer(Arc<World>);

#[async_trait]
impl ApprovalPolicy for Reviewer {
    async fn review(&self, call: &PendingCall<'_>) -> Review {
        self.0
            .arrive(Stage::Reviewed, call.context().conversation_id().as_str());
        sleep(MOMENT).await;
        Review::Allow
    }
}
