//! Random turns that are suspended at random moments, answered from outside and resumed: nothing else comes of them than of the same
//! turns that run through.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use turnwright_core::gate::{GateAnswer, GateKind, OpenGate, TurnGate};
use turnwright_core::record::TurnState;
use turnwright_core::runner::TurnRunnerBuilder;
use turnwright_core::store::{ConversationId, MemoryStore, StoreExt as _};
use turnwright_core::tool::approval::always;
use turnwright_core::{
    BoxError, DispatchContext, Effects, Next, Tool, ToolContext, ToolError, Turn, TurnInput,
    TurnOutcome, TurnRunner,
};
use turnwright_testkit::store::storage_of;

const TALK: &str = "talk";
const TURN: &str = "turn";
/// No script has as many gates and suspensions.
const MAX_RUNS: usize = 200;

/// What the model does in one iteration.
#[derive(Clone, Debug)]
struct Part {
    /// A layer waits at a gate before it.
    gated: bool,
    calls: Vec<Act>,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    /// Reads.
    Look,
    /// Writes at once.
    Note,
    /// Writes, and takes so many milliseconds.
    Slow(u64),
    /// Writes after it was approved.
    Granted,
    Edited,
    Denied,
    /// Reads, and its handler waits at a gate.
    Asks,
}

/// When a run is suspended, and how it goes on.
#[derive(Clone, Copy, Debug)]
struct Suspension {
    /// The tasks of the runtime run so often before it is requested.
    after: usize,
    /// The time that passes before it is requested.
    millis: u64,
    /// Only the first gate is answered before the next run.
    partial: bool,
    /// Answered and resumed by one call.
    at_once: bool,
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let act = prop_oneof![
        Just(Act::Look),
        Just(Act::Note),
        (1_u64..5).prop_map(Act::Slow),
        Just(Act::Granted),
        Just(Act::Edited),
        Just(Act::Denied),
        Just(Act::Asks),
    ];
    let part = (any::<bool>(), prop::collection::vec(act, 1..4));
    let part = part.prop_map(|(gated, calls)| Part { gated, calls });
    prop::collection::vec(part, 1..4)
}

fn suspensions() -> impl Strategy<Value = Vec<Suspension>> {
    let one = (0_usize..40, 0_u64..6, any::<bool>(), any::<bool>());
    let one = one.prop_map(|(after, millis, partial, at_once)| Suspension {
        after,
        millis,
        partial,
        at_once,
    });
    prop::collection::vec(one, 0..6)
}

/// What lasts: the records, and what handlers did in the world.
#[derive(Clone)]
struct World {
    parts: Arc<Vec<Part>>,
    store: Arc<MemoryStore>,
    effects: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new(parts: &[Part]) -> Self {
        World {
            parts: Arc::new(parts.to_vec()),
            store: Arc::default(),
            effects: Arc::default(),
        }
    }

    /// The part that comes after so many calls.
    fn part_after(&self, calls: usize) -> Option<&Part> {
        let mut so_far = 0;
        self.parts.iter().find(|part| {
            let here = so_far == calls;
            so_far += part.calls.len();
            here
        })
    }

    fn tool(&self, name: &'static str, effects: Effects) -> turnwright_core::ToolBuilder<Value> {
        let world = self.clone();
        let tool = Tool::dynamic(name, json!({ "type": "object" })).description("Of a test.");
        tool.effects(effects)
            .handler(move |args: Value, ctx: ToolContext| {
                let world = world.clone();
                async move { world.act(name, effects, &args, &ctx).await }
            })
    }

    async fn act(
        &self,
        name: &str,
        effects: Effects,
        args: &Value,
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        if name == "asks" {
            let gate = TurnGate::new("where").question("Where?").build()?;
            let place = ctx.wait_for(gate).await?;
            return Ok(format!("asks {args} {place}"));
        }
        if let Some(millis) = args["millis"].as_u64() {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        if effects != Effects::ReadOnly {
            self.effects.lock().push(ctx.idempotency_key());
        }
        Ok(format!("{name} {args}"))
    }

    /// A process of its own, which decides by the records alone.
    fn process(&self) -> TurnRunnerBuilder {
        let (deciding, gating) = (self.clone(), self.clone());
        let executor = move |ctx: DispatchContext| {
            let world = deciding.clone();
            async move {
                let done = ctx.records().own_tool_calls().len();
                let Some(part) = world.part_after(done) else {
                    ctx.answer(format!("after {done} calls")).await?;
                    return Ok(());
                };
                let calls = part.calls.iter().enumerate();
                let calls = calls.map(|(number, act)| {
                    let (name, args) = act.proposal(done + number);
                    ctx.propose(name, args)
                });
                ctx.call_tools(calls.collect::<Vec<_>>()).await;
                Ok::<(), BoxError>(())
            }
        };
        let layer = move |ctx: DispatchContext, next: Next<DispatchContext>| {
            let world = gating.clone();
            async move {
                let calls = ctx.records().own_tool_calls();
                let done = calls.iter().filter(|call| call.is_complete()).count();
                if world.part_after(done).is_some_and(|part| part.gated) {
                    let gate = TurnGate::new("go_on").question("Go on?").build()?;
                    ctx.turn().wait_for(gate).await?;
                }
                next.run().await
            }
        };
        let approved = |name| {
            self.tool(name, Effects::Writes)
                .approval(always("it writes"))
        };
        turnwright_core::runner(executor)
            .storage(storage_of(Arc::clone(&self.store)))
            .dispatch_input(layer)
            .tool(self.tool("look", Effects::ReadOnly).build())
            .tool(self.tool("asks", Effects::ReadOnly).build())
            .tool(self.tool("note", Effects::Writes).build())
            .tool(approved("granted").build())
            .tool(approved("edited").build())
            .tool(approved("denied").build())
    }

    async fn state(&self) -> TurnState {
        let turns = self.store.turns(&ConversationId::new(TALK)).await.unwrap();
        turns[0].state
    }
}

impl Act {
    fn proposal(self, number: usize) -> (&'static str, String) {
        let name = match self {
            Act::Look => "look",
            Act::Note | Act::Slow(_) => "note",
            Act::Granted => "granted",
            Act::Edited => "edited",
            Act::Denied => "denied",
            Act::Asks => "asks",
        };
        let args = match self {
            Act::Slow(millis) => json!({ "number": number, "millis": millis }),
            _ => json!({ "number": number }),
        };
        (name, args.to_string())
    }
}

/// What a person says at a gate: always the same.
fn answer(gate: &OpenGate) -> GateAnswer {
    match (&gate.kind, gate.tool()) {
        (GateKind::Approval, Some("granted")) => GateAnswer::approve(),
        (GateKind::Approval, Some("edited")) => GateAnswer::edit(json!({ "number": "edited" })),
        (GateKind::Approval, _) => GateAnswer::deny("no"),
        _ => GateAnswer::value("here"),
    }
}

fn input() -> TurnInput {
    TurnInput::new("go").conversation(TALK).turn_id(TURN)
}

fn paused() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap()
}

/// What came of a turn, without ids and times.
async fn result(outcome: &TurnOutcome) -> Vec<String> {
    let mut result = vec![format!("{}: {}", outcome.status.as_str(), outcome.text)];
    for call in outcome.tool_calls() {
        let text = call.text().await.unwrap_or_default();
        let edited = call.edited_args();
        result.push(format!("{} {:?} {text}", call.tool(), edited));
    }
    result
}

/// The turn in one run, with a person at its gates.
fn run_through(parts: &[Part]) -> (Vec<String>, usize) {
    let world = World::new(parts);
    let result = paused().block_on(async {
        let turn = world.process().build().unwrap().start(input());
        let mut gates = turn.gates();
        let answering = tokio::spawn(async move {
            while let Some(gate) = gates.next().await {
                gates.answer(&gate.id, answer(&gate)).unwrap();
            }
        });
        let outcome = turn.await;
        answering.await.unwrap();
        result(&outcome).await
    });
    let effects = world.effects.lock().len();
    (result, effects)
}

/// Lets a run go on for a while, suspends it, and returns how it ended.
async fn run_until(turn: Turn, suspension: Option<Suspension>) -> TurnOutcome {
    if let Some(suspension) = suspension {
        for _ in 0..suspension.after {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(Duration::from_millis(suspension.millis)).await;
        turn.suspend().unwrap();
    }
    turn.await
}

/// Answers at the gates of a suspended turn, in a process of its own, and continues it there.
async fn go_on(world: &World, runner: &TurnRunner, gates: &[OpenGate], how: Suspension) -> Turn {
    let storage = storage_of(Arc::clone(&world.store));
    let gates = match gates {
        [first, _, ..] if how.partial => std::slice::from_ref(first),
        all => all,
    };
    if let ([gate], true) = (gates, how.at_once) {
        let turn = runner.answer_gate(TALK, &gate.id, answer(gate)).await;
        return turn.unwrap();
    }
    for gate in gates {
        let recorded = storage.answer_gate(TALK, &gate.id, answer(gate)).await;
        recorded.unwrap();
    }
    runner.resume(TURN).await.unwrap()
}

/// The turn in as many runs as it takes, each in a process of its own.
fn suspend_and_resume(parts: &[Part], moments: &[Suspension]) -> (Vec<String>, usize) {
    let world = World::new(parts);
    let at_gates = Suspension {
        after: 0,
        millis: 0,
        partial: false,
        at_once: true,
    };
    let (mut left, mut moments) = (None::<Vec<OpenGate>>, moments.iter().copied());
    for _ in 0..MAX_RUNS {
        let moment = moments.next();
        let how = moment.unwrap_or(at_gates);
        let outcome = paused().block_on(async {
            // A run that is not suspended at a moment is suspended where it waits.
            let runner = match moment {
                Some(_) => world.process(),
                None => world.process().suspend_at_gates(),
            };
            let runner = runner.build().unwrap();
            let turn = match &left {
                None => runner.start(input()),
                Some(gates) => go_on(&world, &runner, gates, how).await,
            };
            let outcome = run_until(turn, moment).await;
            let suspended = world.state().await == TurnState::Suspended;
            assert_eq!(outcome.is_suspended(), suspended, "{}", outcome.status);
            outcome
        });
        if !outcome.is_suspended() {
            let effects = world.effects.lock();
            let mut times = HashMap::new();
            for key in effects.iter() {
                *times.entry(key.clone()).or_insert(0) += 1;
            }
            assert!(
                times.values().all(|times| *times == 1),
                "an effect happened twice"
            );
            let result = paused().block_on(result(&outcome));
            return (result, effects.len());
        }
        left = Some(outcome.open_gates().to_vec());
    }
    panic!("it never ends");
}

#[test]
fn a_turn_that_is_suspended_at_any_moment_comes_to_the_same_result() {
    let seed = super::number_from("TURNWRIGHT_SEED").unwrap_or(super::SEED);
    let config = Config {
        cases: super::cases().div_ceil(8),
        failure_persistence: None,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let cases = (parts(), suspensions());
    let runs = TestRunner::new_with_rng(config, rng).run(&cases, |(parts, moments)| {
        let expected = run_through(&parts);
        prop_assert!(expected.0[0].starts_with("answered"), "{:?}", expected.0);
        prop_assert_eq!(suspend_and_resume(&parts, &moments), expected);
        Ok(())
    });
    if let Err(error) = runs {
        panic!("TURNWRIGHT_SEED={seed}: {error}");
    }
}
