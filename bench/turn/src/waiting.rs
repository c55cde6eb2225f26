//! Turns that wait for an approval, all at once, in a separate process.

use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use turnwright_bench_measure::resident_memory_kib;
use turnwright_core::artifact::Inline;
use turnwright_core::event::{Event, EventKind};
use turnwright_core::tool::approval::always;
use turnwright_core::tool::approval::{Approval, ApprovalRequest};
use turnwright_core::{
    BoxError, DispatchContext, Next, Tool, ToolContext, TurnContext, TurnOutcome, TurnRunner,
};

use crate::runner::stored;

const TOOLS: usize = 50;

/// How turns wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Started; their gates are answered.
    Start,
    /// Run in tasks, with a slow approver.
    Run,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    pub(crate) way: Way,
    /// With two middlewares in each pipeline, and artifact tools in addition.
    pub(crate) full: bool,
    pub(crate) turns: usize,
}

impl Crowd {
    pub(crate) fn all(turns: usize) -> Vec<Crowd> {
        let mut all = Vec::new();
        for full in [false, true] {
            for way in [Way::Start, Way::Run] {
                all.push(Crowd { way, full, turns });
            }
        }
        all
    }

    pub(crate) fn words(self) -> Vec<String> {
        let way = match self.way {
            Way::Start => "start",
            Way::Run => "run",
        };
        let layers = if self.full { "full" } else { "plain" };
        vec![way.to_owned(), layers.to_owned(), self.turns.to_string()]
    }

    pub(crate) fn from_words(words: &[String]) -> Result<Self, Box<dyn Error>> {
        let [way, layers, turns] = words else {
            return Err("--wait needs `start` or `run`, `plain` or `full`, and a number".into());
        };
        Ok(Crowd {
            way: if way == "start" { Way::Start } else { Way::Run },
            full: layers == "full",
            turns: turns.parse()?,
        })
    }

    pub(crate) const fn name(self) -> &'static str {
        match (self.way, self.full) {
            (Way::Start, false) => "`start`, answered at their gates",
            (Way::Run, false) => "`run` in a task each, with an approver that waits",
            (Way::Start, true) => "`start`, with middleware and artifact tools",
            (Way::Run, true) => "`run`, with middleware and artifact tools",
        }
    }

    /// Returns the bytes of resident memory per waiting turn, measured in a new process.
    pub(crate) fn in_a_child(self) -> Result<f64, Box<dyn Error>> {
        let output = Command::new(std::env::current_exe()?)
            .arg("--wait")
            .args(self.words())
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("{self:?}: the child failed").into());
        }
        Ok(String::from_utf8(output.stdout)?.trim().parse()?)
    }

    /// Lets the turns wait, measures, answers them all, and checks how they ended.
    pub(crate) fn measure(self) -> Result<f64, Box<dyn Error>> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let open = Arc::new(AtomicUsize::new(0));
        let answers = Arc::new(Semaphore::new(0));
        let runner = self.runner(&open, &answers)?;
        runtime.block_on(async {
            match self.way {
                Way::Start => self.started(&runner, &open).await,
                Way::Run => self.run(&runner, &open, &answers).await,
            }
        })
    }

    async fn started(self, runner: &TurnRunner, open: &AtomicUsize) -> Result<f64, Box<dyn Error>> {
        // Runs one turn first, for one-time initialisation.
        let first = runner.start(stored("Do it."));
        let gate = first.gates().next().await.ok_or("no gate was opened")?;
        first.gates().approve(&gate.id)?;
        ended_well(&first.await)?;

        let before = resident_memory_kib()?;
        let turns: Vec<_> = (0..self.turns)
            .map(|_| runner.start(stored("Do it.")))
            .collect();
        all_wait(open, self.turns + 1).await;
        let held = resident_memory_kib()?.saturating_sub(before);
        for turn in &turns {
            let gates = turn.gates();
            let [gate] = &gates.open()[..] else {
                return Err("a turn does not wait at one gate".into());
            };
            if !gates.approve(&gate.id)? {
                return Err("a gate took no answer".into());
            }
        }
        for turn in turns {
            ended_well(&turn.await)?;
        }
        Ok(held as f64 * 1024.0 / self.turns as f64)
    }

    async fn run(
        self,
        runner: &TurnRunner,
        open: &AtomicUsize,
        answers: &Semaphore,
    ) -> Result<f64, Box<dyn Error>> {
        answers.add_permits(1);
        ended_well(&runner.run(stored("Do it.")).await)?;

        let before = resident_memory_kib()?;
        let one = || {
            let runner = runner.clone();
            tokio::spawn(async move { runner.run(stored("Do it.")).await })
        };
        let turns: Vec<_> = (0..self.turns).map(|_| one()).collect();
        all_wait(open, self.turns + 1).await;
        let held = resident_memory_kib()?.saturating_sub(before);
        answers.add_permits(self.turns);
        for turn in turns {
            ended_well(&turn.await?)?;
        }
        Ok(held as f64 * 1024.0 / self.turns as f64)
    }

    fn runner(
        self,
        open: &Arc<AtomicUsize>,
        answers: &Arc<Semaphore>,
    ) -> Result<TurnRunner, Box<dyn Error>> {
        let (open, answers) = (Arc::clone(open), Arc::clone(answers));
        let mut builder = turnwright_core::runner(call_once)
            .tools((0..TOOLS).map(|number| tool(number, self.full)))
            .observer(move |event: &Event| {
                if matches!(event.kind, EventKind::GateOpened { .. }) {
                    open.fetch_add(1, Ordering::Relaxed);
                }
            });
        if self.way == Way::Run {
            builder = builder.approver(move |_: ApprovalRequest| {
                let answers = Arc::clone(&answers);
                async move {
                    match answers.acquire().await {
                        Ok(answer) => {
                            answer.forget();
                            GateAnswer::approve()
                        }
                        Err(_) => GateAnswer::edit(Value::Null),
                    }
                }
            });
        }
        if self.full {
            builder = builder
                .turn_input(of_turn)
                .turn_input(of_turn)
                .turn_output(of_turn)
                .turn_output(of_turn)
                .dispatch_input(of_dispatch)
                .dispatch_input(of_dispatch)
                .dispatch_output(of_dispatch)
                .dispatch_output(of_dispatch);
        }
        Ok(builder.build()?)
    }
}

async fn of_turn(_: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
    next.run().await
}

async fn of_dispatch(_: DispatchContext, next: Next<DispatchContext>) -> Result<(), BoxError> {
    next.run().await
}

async fn call_once(ctx: DispatchContext) -> Result<(), BoxError> {
    ctx.call_tools([ctx.propose("tool_0", r#"{"path": "/tmp/file"}"#)])
        .await;
    ctx.answer("Done.").await?;
    Ok(())
}

fn tool(number: usize, full: bool) -> Result<Tool, turnwright_core::Error> {
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"],
    });
    let builder = Tool::dynamic(format!("tool_{number}"), schema)
        .description("Removes a file.")
        .handler(|_: Value, _: ToolContext| async { "removed" });
    match number {
        0 => builder.approval(always("it cannot be undone")),
        1 if full => builder.inline(Inline::Never),
        _ => builder,
    }
    .build()
}

fn ended_well(outcome: &TurnOutcome) -> Result<(), Box<dyn Error>> {
    let mut calls = outcome.tool_calls();
    let done = calls
        .next()
        .is_some_and(|call| call.is_complete() && !call.is_error());
    if outcome.is_answered() && outcome.text == "Done." && done && calls.next().is_none() {
        Ok(())
    } else {
        Err(format!("a turn did not end as it should: {outcome:?}").into())
    }
}

async fn all_wait(open: &AtomicUsize, wanted: usize) {
    while open.load(Ordering::Relaxed) < wanted {
        tokio::task::yield_now().await;
    }
}
