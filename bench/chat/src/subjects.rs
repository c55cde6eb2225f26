//! The measured subjects.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use turnwright_bench_measure::Subject;
use turnwright_models::Protocol;

use crate::bare::{Anthropic, Bare, ChatCompletions, Failure, Gemini, Ollama, Responses, Wire};
use crate::cost::cpu_time;
use crate::ours::{self, Ours};
use crate::script::{LONG, Script};
use crate::server::Server;

pub(crate) const THREE_CALLS: &str = "three calls";
pub(crate) const DELTAS: &str = "deltas in one write";
pub(crate) const DELTAS_APART: &str = "deltas in small writes";
pub(crate) const EIGHT_CALLS: &str = "eight calls at once";

pub(crate) const BARE: &str = "the loop by hand";
pub(crate) const RUN: &str = "Turnwright, `run`";
pub(crate) const READ: &str = "Turnwright, `start`, read";

/// The section with all protocols, and the rows of each: the loop by hand, and Turnwright.
pub(crate) const PROTOCOLS: &str = "three calls, by protocol";
pub(crate) const BY_PROTOCOL: [(Protocol, [&str; 2]); 5] = [
    (
        Protocol::ChatCompletions,
        [
            "Chat Completions, the loop by hand",
            "Chat Completions, Turnwright",
        ],
    ),
    (
        Protocol::Responses,
        ["Responses, the loop by hand", "Responses, Turnwright"],
    ),
    (
        Protocol::Anthropic,
        [
            "Anthropic Messages, the loop by hand",
            "Anthropic Messages, Turnwright",
        ],
    ),
    (
        Protocol::Gemini,
        ["Gemini, the loop by hand", "Gemini, Turnwright"],
    ),
    (
        Protocol::Ollama,
        ["Ollama, the loop by hand", "Ollama, Turnwright"],
    ),
];

/// The request sizes of a turn, including heads: ours, and the loop's.
pub(crate) struct Requests {
    pub(crate) ours: Vec<usize>,
    pub(crate) bare: Vec<usize>,
}

/// The clock that is used.
type Clock = fn() -> Duration;

pub(crate) fn by_section(server: &Server) -> Result<Vec<Vec<Subject<'static>>>, Box<dyn Error>> {
    let (processor, wall) = (cpu_time as Clock, on_the_wall as Clock);
    Ok(vec![
        section(server, THREE_CALLS, Script::ThreeCalls, 1, processor)?,
        section(server, DELTAS, Script::Long, LONG, processor)?,
        section(
            server,
            DELTAS_APART,
            Script::LongInSmallWrites,
            LONG,
            processor,
        )?,
        section(server, EIGHT_CALLS, Script::EightCalls, 1, wall)?,
        protocols(server)?,
    ])
}

pub(crate) fn all(server: &Server) -> Result<Vec<Subject<'static>>, Box<dyn Error>> {
    Ok(by_section(server)?.into_iter().flatten().collect())
}

/// Each with its own single-threaded runtime and connections.
fn section(
    server: &Server,
    name: &'static str,
    script: Script,
    pieces: usize,
    clock: Clock,
) -> Result<Vec<Subject<'static>>, Box<dyn Error>> {
    let protocol = Protocol::ChatCompletions;
    let url = server.url(script, protocol);
    let (ours, runtime) = (Arc::new(Ours::new(protocol, &url)?), one_thread()?);
    let read = move |times| {
        let ours = Arc::clone(&ours);
        taken(&runtime, clock, async move {
            Ok(ours.read(times, script).await?)
        })
    };
    let by_hand = by_hand::<ChatCompletions>(&url, script, clock)?;
    let run = run(protocol, &url, script, clock)?;
    let pieces = pieces as u64;
    Ok(vec![
        Subject::new(name, BARE, by_hand).of_pieces(pieces),
        Subject::new(name, RUN, run).of_pieces(pieces),
        Subject::new(name, READ, read).of_pieces(pieces),
    ])
}

/// Both sides in all protocols.
fn protocols(server: &Server) -> Result<Vec<Subject<'static>>, Box<dyn Error>> {
    let (script, clock) = (Script::ThreeCalls, cpu_time as Clock);
    let mut subjects = Vec::new();
    for (protocol, [bare, ours]) in BY_PROTOCOL {
        let url = server.url(script, protocol);
        let by_hand: Repeat = match protocol {
            Protocol::Responses => Box::new(by_hand::<Responses>(&url, script, clock)?),
            Protocol::Anthropic => Box::new(by_hand::<Anthropic>(&url, script, clock)?),
            Protocol::Gemini => Box::new(by_hand::<Gemini>(&url, script, clock)?),
            Protocol::Ollama => Box::new(by_hand::<Ollama>(&url, script, clock)?),
            _ => Box::new(by_hand::<ChatCompletions>(&url, script, clock)?),
        };
        subjects.push(Subject::new(PROTOCOLS, bare, by_hand));
        subjects.push(Subject::new(
            PROTOCOLS,
            ours,
            run(protocol, &url, script, clock)?,
        ));
    }
    Ok(subjects)
}

/// Repeats turns, and returns the time that they take.
type Repeat = Box<dyn FnMut(u64) -> Duration>;

fn by_hand<W: Wire>(
    url: &str,
    script: Script,
    clock: Clock,
) -> Result<impl FnMut(u64) -> Duration + use<W>, Box<dyn Error>> {
    let bare = Arc::new(Bare::<W>::new(url, &ours::tools()?)?);
    let runtime = one_thread()?;
    Ok(move |times| {
        let bare = Arc::clone(&bare);
        taken(&runtime, clock, async move {
            for _ in 0..times {
                bare.run(script).await?;
            }
            Ok(())
        })
    })
}

fn run(
    protocol: Protocol,
    url: &str,
    script: Script,
    clock: Clock,
) -> Result<impl FnMut(u64) -> Duration + use<>, Box<dyn Error>> {
    let (ours, runtime) = (Arc::new(Ours::new(protocol, url)?), one_thread()?);
    Ok(move |times| {
        let ours = Arc::clone(&ours);
        taken(&runtime, clock, async move {
            Ok(ours.run(times, script).await?)
        })
    })
}

/// Runs work in a task, as in a real program. The runtime polls the network between two polls of the future it blocks
/// on, but only occasionally between tasks.
///
/// # Panics
///
/// If the work fails: it has no time to report, and the benchmark ends as for an answer that is not in the script.
fn taken(
    runtime: &Runtime,
    clock: Clock,
    work: impl Future<Output = Result<(), Failure>> + Send + 'static,
) -> Duration {
    let start = clock();
    let result = runtime.block_on(runtime.spawn(work));
    let elapsed = clock() - start;
    if let Err(failure) = result.map_err(Failure::from).flatten() {
        panic!("a turn failed: {failure}");
    }
    elapsed
}

fn on_the_wall() -> Duration {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed()
}

fn one_thread() -> Result<Runtime, Box<dyn Error>> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// Runs one turn of each side, to see the requests on the wire.
pub(crate) fn requests(server: &Server) -> Result<Requests, Box<dyn Error>> {
    let (runtime, script) = (one_thread()?, Script::ThreeCalls);
    let protocol = Protocol::ChatCompletions;
    let url = server.url(script, protocol);
    let runner = Ours::new(protocol, &url)?.runner()?;
    runtime.block_on(ours::run(&runner, script));
    let ours = server.sizes(&runtime)?;
    let bare = Bare::<ChatCompletions>::new(&url, &ours::tools()?)?;
    let ran = runtime.block_on(bare.run(script));
    ran.map_err(|error| error as Box<dyn Error>)?;
    let bare = server.sizes(&runtime)?;
    Ok(Requests { ours, bare })
}
