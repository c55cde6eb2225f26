//! The tools that a script calls. What each call does stands in its arguments.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::artifact::Inline;
use turnwright_core::gate::TurnGate;
use turnwright_core::schema::{Rejection, Schema};
use turnwright_core::schema::{integer, object, string};
use turnwright_core::tool::Concurrency;
use turnwright_core::tool::approval::{PendingCall, Review};
use turnwright_core::{Effects, Tool, ToolBuilder, ToolContext, ToolError};

use super::script::{Args, Call, Kind};
use super::world::{Proposed, World};

/// What a gate takes as an answer.
pub(super) const GATE_ANSWER: i64 = 7;
/// Where nobody answers. Elsewhere there is all the time that a slow machine needs.
const GATE_TIMEOUT: Duration = Duration::from_millis(30);
const AMPLE: Duration = Duration::from_secs(60);

/// A gate that is answered as `how` says.
pub(super) fn gate(how: &str, turn: usize) -> TurnGate {
    TurnGate::new("question")
        .question(json!({ "how": how, "turn": turn }))
        .schema(object().field("n", integer().min(0).max(10).required()))
        .timeout(if how == "Left" { GATE_TIMEOUT } else { AMPLE })
        .build()
        .unwrap()
}

fn tool(name: &str, effects: Effects) -> ToolBuilder<Value> {
    // Made once: every script makes these tools anew.
    static RULE: OnceLock<Schema> = OnceLock::new();
    let rule = RULE.get_or_init(|| {
        let rule = object()
            .field("n", integer().min(0).max(100).required())
            .field("how", string().required());
        rule.build().unwrap()
    });
    Tool::dynamic(name, rule.clone())
        .description("Does what it is told.")
        .effects(effects)
}

/// A tool that returns at once, and is known to one turn alone.
pub(super) fn own(world: &Arc<World>, name: &str) -> Tool {
    let world = Arc::clone(world);
    tool(name, Effects::ReadOnly)
        .handler(move |args: Value, ctx: ToolContext| {
            let (turn, ..) = world.enter(&ctx, &args);
            let of_another = ctx.tool().name() != format!("own_{turn}");
            world.check(!of_another, || format!("turn {turn} runs another's tool"));
            async { "mine" }
        })
        .build()
        .unwrap()
}

pub(super) fn all(world: &Arc<World>) -> Vec<Tool> {
    use Effects::{ReadOnly, Writes};
    let stuck = Duration::from_millis(20);
    // Less than it waits at a gate, which does not count.
    let less = if world.strict { stuck } else { AMPLE };
    let built = [
        plain(world, tool("look", ReadOnly), Does::Nothing),
        plain(world, tool("note", Writes), Does::Nothing),
        plain(
            world,
            tool("alone", Writes).concurrency(Concurrency::Exclusive),
            Does::Yields,
        ),
        plain(world, tool("fails", Writes), Does::Fails),
        plain(world, tool("panics", Writes), Does::Panics),
        plain(world, tool("slow", Writes), Does::Sleeps),
        plain(world, tool("stuck", Writes).timeout(stuck), Does::Hangs),
        plain(
            world,
            tool("stuck_look", ReadOnly).timeout(stuck),
            Does::Hangs,
        ),
        plain(world, tool("large", ReadOnly), Does::Large),
        plain(
            world,
            tool("never", ReadOnly).inline(Inline::Never),
            Does::Nothing,
        ),
        plain(
            world,
            tool("gate", ReadOnly).timeout(less),
            Does::WaitsAtGate,
        ),
        plain(world, tool("calls", ReadOnly), Does::Calls),
        plain(world, tool("ends", ReadOnly), Does::Ends),
        plain(
            world,
            tool("ask", Writes).approval(|_: &PendingCall<'_>| Review::ask("it writes")),
            Does::Yields,
        ),
        plain(
            world,
            tool("rewrite", Writes).approval(rewrite),
            Does::Yields,
        ),
        plain(
            world,
            tool("checked", Writes).check("scripted", check),
            Does::Nothing,
        ),
    ];
    built.into_iter().chain([blocking(world)]).collect()
}

#[derive(Clone, Copy)]
enum Does {
    Nothing,
    Yields,
    Fails,
    Panics,
    Sleeps,
    Hangs,
    Large,
    WaitsAtGate,
    Calls,
    Ends,
}

fn plain(world: &Arc<World>, tool: ToolBuilder<Value>, does: Does) -> Tool {
    let world = Arc::clone(world);
    tool.handler(move |args: Value, ctx: ToolContext| {
        let world = Arc::clone(&world);
        async move {
            let (turn, n, how) = world.enter(&ctx, &args);
            match does {
                Does::Nothing => {}
                // More than once: a handler is polled twice before it is waited for.
                Does::Yields => {
                    for _ in 0..3 {
                        tokio::task::yield_now().await;
                    }
                }
                Does::Fails => return Err(ToolError::unavailable("on purpose")),
                Does::Panics => std::panic::resume_unwind(Box::new("on purpose")),
                Does::Sleeps => tokio::time::sleep(Duration::from_millis(n as u64 % 12)).await,
                Does::Hangs => std::future::pending().await,
                Does::Large => return Ok("many words ".repeat(500)),
                Does::WaitsAtGate => {
                    let answer = ctx.wait_for(gate(&how, turn)).await?;
                    world.check(answer["n"] == GATE_ANSWER, || {
                        format!("a gate gave {answer}")
                    });
                }
                Does::Calls => call_others(&world, &ctx, turn, &how).await,
                Does::Ends => end(&ctx, &how),
            }
            Ok(format!("{how} {n}"))
        }
    })
    .build()
    .unwrap()
}

fn blocking(world: &Arc<World>) -> Tool {
    let world = Arc::clone(world);
    tool("blocks", Effects::Writes)
        .handler_blocking(move |args: Value, ctx: ToolContext| {
            // A thread runs beside everything else: what it was started with is all that can be said of it.
            let n = args["n"].as_i64();
            world.check(n.is_some_and(|n| (0..=100).contains(&n)), || {
                format!("{} runs with unchecked {args}", ctx.id())
            });
            "done"
        })
        .build()
        .unwrap()
}

async fn call_others(world: &World, ctx: &ToolContext, turn: usize, how: &str) {
    let times = if how == "CallsTwo" { 2 } else { 1 };
    let calls: Vec<_> = (0..times)
        .map(|n| {
            ctx.dispatch()
                .propose("note", json!({ "n": n, "how": "nested" }))
        })
        .collect();
    let proposed = calls.iter().map(|call| Proposed {
        id: call.id().to_owned(),
        iteration: ctx.dispatch().iteration(),
        call: None,
    });
    world.proposes(turn, proposed);
    ctx.dispatch().call_tools(calls).await;
}

fn end(ctx: &ToolContext, how: &str) {
    match how {
        "Cancels" => ctx.turn().cancellation().cancel(),
        "Aborts" => ctx.turn().abort("tool"),
        // Another call may have been first: then this one does not count.
        "Acks" => drop(ctx.dispatch().ack()),
        _ => drop(ctx.dispatch().nack("tool")),
    }
}

fn rewrite(call: &PendingCall<'_>) -> Review {
    let n = call.args()["n"].as_i64().unwrap_or(0);
    let how = call.args()["how"].as_str().unwrap_or("");
    let with = |n: i64| Review::Rewrite(json!({ "n": n, "how": how }));
    match how {
        "Well" if n % 2 == 1 => with(n - 1),
        "Badly" => with(1000),
        "ForEver" => with((n + 1) % 100),
        "Denied" => Review::deny("on purpose"),
        "ThenAsk" if n % 2 == 1 => with(n - 1),
        "ThenAsk" => Review::ask("it was rewritten"),
        _ => Review::Allow,
    }
}

async fn check(args: Value) -> Result<(), Rejection> {
    match args["how"].as_str().unwrap_or("") {
        "Slow" => tokio::time::sleep(Duration::from_millis(2)).await,
        "Rejects" => return Err(Rejection::at("/n", "is not wanted")),
        "Panics" => std::panic::resume_unwind(Box::new("on purpose")),
        _ => {}
    }
    Ok(())
}

impl Call {
    /// The tool's name as a model would say it, and the arguments.
    pub(super) fn proposal(&self, turn: usize) -> (String, String) {
        let (name, how) = match self.tool {
            Kind::Look => ("look", String::new()),
            Kind::Note => ("note", String::new()),
            Kind::Alone => ("alone", String::new()),
            Kind::Fails => ("fails", String::new()),
            Kind::Panics => ("panics", String::new()),
            Kind::Slow => ("slow", String::new()),
            Kind::Stuck => ("stuck", String::new()),
            Kind::StuckLook => ("stuck_look", String::new()),
            Kind::Blocks => ("blocks", String::new()),
            Kind::Large => ("large", String::new()),
            Kind::Never => ("never", String::new()),
            Kind::Gate(how) => ("gate", format!("{how:?}")),
            Kind::Ask(how) => ("ask", format!("{how:?}")),
            Kind::Rewrite(how) => ("rewrite", format!("{how:?}")),
            Kind::Checked(how) => ("checked", format!("{how:?}")),
            Kind::CallsOne | Kind::CallsTwo => ("calls", format!("{:?}", self.tool)),
            Kind::Cancels | Kind::Aborts | Kind::Acks | Kind::Nacks => {
                ("ends", format!("{:?}", self.tool))
            }
            Kind::Own => (&*format!("own_{turn}"), String::new()),
            Kind::Others => (&*format!("own_{}", turn + 1), String::new()),
            Kind::Unknown => ("nothing_like_it", String::new()),
        };
        let args = match self.args {
            Args::Good(n) => json!({ "n": n, "how": how }).to_string(),
            Args::NotJson => format!("{{\"n\": 5, \"how\": \"{how}\""),
            Args::OutOfRange => json!({ "n": 101, "how": how }).to_string(),
            Args::Missing => json!({ "how": how }).to_string(),
        };
        (name.to_owned(), args)
    }
}
