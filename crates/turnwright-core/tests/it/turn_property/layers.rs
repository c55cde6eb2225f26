//! The layers of the pipelines: one that does what the script says, and one that looks.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use turnwright_core::ToolCall;

use turnwright_core::event::Level;
use turnwright_core::{BoxError, DispatchContext, Next, TurnContext};

use super::script::{Act, Pipe};
use super::tools;
use super::world::World;

type Passing = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// A context of either kind.
pub(super) trait Context: Clone + Send + Sync + AsRef<TurnContext> + 'static {
    fn dispatch(&self) -> Option<&DispatchContext>;
}

impl Context for TurnContext {
    fn dispatch(&self) -> Option<&DispatchContext> {
        None
    }
}

impl Context for DispatchContext {
    fn dispatch(&self) -> Option<&DispatchContext> {
        Some(self)
    }
}

/// A layer that does what the script says.
pub(super) fn acting<C: Context>(
    world: &Arc<World>,
    pipe: Pipe,
) -> impl Fn(C, Next<C>) -> Passing + Send + Sync + use<C> {
    let world = Arc::clone(world);
    move |ctx: C, next: Next<C>| {
        let world = Arc::clone(&world);
        Box::pin(async move {
            let turn = world.turn_of(ctx.as_ref());
            world.turns[turn].meet(ctx.as_ref());
            let iteration = ctx.dispatch().map_or(0, DispatchContext::iteration);
            world.check_not_cancelled(turn, || format!("{} was entered", pipe.name()));
            match world.script.turns[turn].act(pipe, iteration) {
                None => {}
                Some(Act::Abort) => {
                    ctx.as_ref().abort("layer");
                    return Ok(());
                }
                Some(Act::Cancel) => {
                    ctx.as_ref().cancellation().cancel();
                    return Ok(());
                }
                Some(Act::AbortAfter) => {
                    next.run().await?;
                    ctx.as_ref().abort("layer");
                    return Ok(());
                }
                Some(Act::FailAfter) => {
                    next.run().await?;
                    return Err("a layer fails on purpose".into());
                }
                Some(Act::Fail) => return Err("a layer fails on purpose".into()),
                Some(Act::Panic) => std::panic::resume_unwind(Box::new("on purpose")),
                Some(Act::ShortCircuit) => return Ok(()),
                Some(Act::Gate(how)) => {
                    let gate = tools::gate(&format!("{how:?}"), turn);
                    ctx.as_ref().wait_for(gate).await?;
                }
                Some(Act::Slow(millis)) => {
                    tokio::time::sleep(Duration::from_millis(millis)).await;
                }
                Some(Act::Yield) => tokio::task::yield_now().await,
                Some(Act::Register) => {
                    let extra = tools::own(&world, &format!("extra_{turn}"));
                    drop(ctx.as_ref().tools().register(extra));
                }
                Some(Act::Ack) => ctx.dispatch().map_or(Ok(()), DispatchContext::ack)?,
                Some(Act::Nack) => {
                    ctx.dispatch().map_or(Ok(()), |ctx| ctx.nack("layer"))?;
                }
            }
            next.run().await
        })
    }
}

/// The innermost layer: notes that it was reached, gives the turn a tool of its own, and looks for what is another's.
pub(super) fn witness<C: Context>(
    world: &Arc<World>,
    pipe: Pipe,
) -> impl Fn(C, Next<C>) -> Passing + Send + Sync + use<C> {
    let world = Arc::clone(world);
    move |ctx: C, next: Next<C>| {
        let world = Arc::clone(&world);
        Box::pin(async move {
            let turn = world.turn_of(ctx.as_ref());
            let step = match ctx.dispatch() {
                Some(dispatch) => format!("{} {}", pipe.name(), dispatch.iteration()),
                None => pipe.name().to_owned(),
            };
            ctx.as_ref().log(Level::Debug, step.clone());
            world.passed(turn, step);
            let context = ctx.as_ref();
            if pipe == Pipe::TurnInput {
                let own = tools::own(&world, &format!("own_{turn}"));
                context.tools().register(own)?;
            }
            for tool in context.tools().all() {
                let of_turn = tool.name().strip_prefix("own_");
                let of_turn = of_turn.or_else(|| tool.name().strip_prefix("extra_"));
                world.check(of_turn.is_none_or(|of| of == turn.to_string()), || {
                    format!("turn {turn} sees {}", tool.name())
                });
            }
            let proposed = world.turns[turn].proposed.lock().clone();
            for record in context.records().all::<ToolCall>() {
                let mine = proposed.iter().any(|call| call.id == record.id());
                world.check(mine, || {
                    format!("turn {turn} sees the call {}", record.id())
                });
            }
            next.run().await
        })
    }
}
