//! Turns of Turnwright.

use std::sync::atomic::{AtomicU64, Ordering};

use turnwright_core::{Effects, Error, EventKind, Tool, ToolContext, TurnInput, TurnRunner};
use turnwright_models::{AnyModel, Protocol};

use crate::script::{LOOK_UP, Script, WAIT};
use crate::tools::{LOOK_UP_IS_FOR, LookUp, QUESTION, SYSTEM, WAIT_IS_FOR, Wait, look_up, wait};

/// The server and its tools, with default settings.
pub(crate) struct Ours {
    model: AnyModel,
    tools: [Tool; 2],
}

impl Ours {
    pub(crate) fn new(protocol: Protocol, url: &str) -> Result<Self, Error> {
        let model = protocol.builder_at(url).model("m").no_proxy().build()?;
        let tools = tools()?;
        Ok(Ours { model, tools })
    }

    /// Returns a runner with its own memory store and shared connections.
    pub(crate) fn runner(&self) -> Result<TurnRunner, Error> {
        turnwright_core::runner(self.model.clone())
            .instructions(SYSTEM)
            .tools(self.tools.iter().cloned())
            .build()
    }

    /// Runs turns without reading their events.
    pub(crate) async fn run(&self, times: u64, script: Script) -> Result<(), Error> {
        for batch in batches(times) {
            let runner = self.runner()?;
            for _ in 0..batch {
                run(&runner, script).await;
            }
        }
        Ok(())
    }

    /// Runs turns and reads their deltas as they arrive.
    pub(crate) async fn read(&self, times: u64, script: Script) -> Result<(), Error> {
        for batch in batches(times) {
            let runner = self.runner()?;
            for _ in 0..batch {
                read(&runner, script).await;
            }
        }
        Ok(())
    }
}

/// The number of turns per runner. A store keeps its records: a new one now and then frees them, which counts.
const BATCH: u64 = 64;

fn batches(times: u64) -> impl Iterator<Item = u64> {
    let complete = std::iter::repeat_n(BATCH, (times / BATCH) as usize);
    complete.chain((!times.is_multiple_of(BATCH)).then_some(times % BATCH))
}

pub(crate) fn tools() -> Result<[Tool; 2], Error> {
    let looks_up = Tool::typed::<LookUp>(LOOK_UP)
        .description(LOOK_UP_IS_FOR)
        .effects(Effects::ReadOnly)
        .handler(|args: LookUp, _: ToolContext| look_up(args))
        .build()?;
    let waits = Tool::typed::<Wait>(WAIT)
        .description(WAIT_IS_FOR)
        .effects(Effects::ReadOnly)
        .handler(|args: Wait, _: ToolContext| wait(args))
        .build()?;
    Ok([looks_up, waits])
}

/// Returns an input for a new conversation in the store.
fn stored(text: &str) -> TurnInput {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    TurnInput::new(text).conversation(number.to_string())
}

/// Runs a turn without reading its events.
pub(crate) async fn run(runner: &TurnRunner, script: Script) {
    let outcome = runner.run(stored(QUESTION)).await;
    let fine = outcome.is_answered()
        && outcome.text.len() == script.answer()
        && outcome.tool_calls().count() == script.calls();
    assert!(fine, "{outcome:?}");
}

async fn read(runner: &TurnRunner, script: Script) {
    let mut turn = runner.start(stored(QUESTION));
    let mut heard = 0;
    while let Some(event) = turn.next().await {
        if let EventKind::MessageDelta(delta) = event.kind {
            heard += delta.text.len();
        }
    }
    let outcome = turn.await;
    assert!(
        outcome.is_answered() && heard == script.answer(),
        "{outcome:?}"
    );
}
