//! Many concurrent turns, in a separate process.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Builder;
use turnwright_bench_measure::{peak_memory_kib, resident_memory_kib};
use turnwright_models::Protocol;

use crate::bare::{Bare, ChatCompletions, Failure};
use crate::cost::cpu_time;
use crate::options::Plan;
use crate::ours::{self, Ours};
use crate::script::Script;
use crate::server::Server;

/// The number of concurrent callers. Each runs one turn after the other.
pub(crate) const CALLERS: usize = 64;
pub(crate) const THREADS: usize = 2;

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    by_hand: bool,
    turns: usize,
    url: String,
}

/// The measurements of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Turns per second.
    pub(crate) rate: f64,
    /// Microseconds of CPU time per turn.
    pub(crate) cpu: f64,
    /// MiB after the first turn, and at the peak.
    pub(crate) before: f64,
    pub(crate) peak: f64,
}

/// All runs of both sides, which alternated.
pub(crate) struct Crowds {
    pub(crate) ours: Vec<Taken>,
    pub(crate) bare: Vec<Taken>,
}

impl Crowds {
    pub(crate) fn measure(server: &Server, plan: Plan) -> Result<Self, Box<dyn Error>> {
        let crowd = |by_hand| Crowd {
            by_hand,
            turns: plan.turns,
            url: server.url(Script::ThreeCalls, Protocol::ChatCompletions),
        };
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..plan.crowds {
            ours.push(crowd(false).in_a_child()?);
            bare.push(crowd(true).in_a_child()?);
        }
        Ok(Crowds { ours, bare })
    }
}

impl Crowd {
    pub(crate) fn from_words(words: &[String]) -> Result<Self, Box<dyn Error>> {
        let [side, turns, url] = words else {
            return Err("`crowd` needs `ours` or `bare`, a number, and a base URL".into());
        };
        Ok(Crowd {
            by_hand: side == "bare",
            turns: turns.parse()?,
            url: url.clone(),
        })
    }

    fn in_a_child(&self) -> Result<Taken, Box<dyn Error>> {
        let output = Command::new(std::env::current_exe()?)
            .arg("crowd")
            .arg(if self.by_hand { "bare" } else { "ours" })
            .arg(self.turns.to_string())
            .arg(&self.url)
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("{self:?}: the child failed").into());
        }
        Taken::read(&String::from_utf8(output.stdout)?)
    }

    pub(crate) fn measure(&self) -> Result<Taken, Box<dyn Error>> {
        let script = Script::ThreeCalls;
        if self.by_hand {
            let bare = Arc::new(Bare::<ChatCompletions>::new(&self.url, &ours::tools()?)?);
            self.all(move || {
                let bare = Arc::clone(&bare);
                async move { bare.run(script).await }
            })
        } else {
            let runner = Ours::new(Protocol::ChatCompletions, &self.url)?.runner()?;
            self.all(move || {
                let runner = runner.clone();
                async move {
                    ours::run(&runner, script).await;
                    Ok(())
                }
            })
        }
    }

    fn all<F, Fut>(&self, once: F) -> Result<Taken, Box<dyn Error>>
    where
        F: Fn() -> Fut + Clone + Send + 'static,
        Fut: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(THREADS).enable_all().build()?;
        runtime.block_on(async {
            // Runs one turn first, for one-time initialisation.
            tokio::spawn(once())
                .await?
                .map_err(|error| error as Box<dyn Error>)?;
            let before = resident_memory_kib()?;
            let (start, cpu) = (Instant::now(), cpu_time());
            let each = self.turns / CALLERS;
            let callers: Vec<_> = (0..CALLERS)
                .map(|_| {
                    let once = once.clone();
                    tokio::spawn(async move {
                        for _ in 0..each {
                            once().await?;
                        }
                        Ok::<(), Failure>(())
                    })
                })
                .collect();
            for caller in callers {
                caller.await?.map_err(|error| error as Box<dyn Error>)?;
            }
            let turns = (each * CALLERS) as f64;
            Ok(Taken {
                rate: turns / start.elapsed().as_secs_f64(),
                cpu: (cpu_time() - cpu).as_secs_f64() * 1e6 / turns,
                before: before as f64 / 1024.0,
                peak: peak_memory_kib()? as f64 / 1024.0,
            })
        })
    }
}

impl Taken {
    fn read(text: &str) -> Result<Self, Box<dyn Error>> {
        let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
        let [rate, cpu, before, peak] = numbers?[..] else {
            return Err("a run prints four numbers".into());
        };
        Ok(Taken {
            rate,
            cpu,
            before,
            peak,
        })
    }
}

impl Display for Taken {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Taken {
            rate,
            cpu,
            before,
            peak,
        } = self;
        write!(f, "{rate} {cpu} {before} {peak}")
    }
}
