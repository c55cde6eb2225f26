//! The command line.

use std::env;
use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use crate::crowd::Crowd;
use crate::measure::Timing as TimingPlan;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) timing: TimingPlan,
    /// How often each crowd runs, in a process of its own each time.
    pub(crate) crowds: usize,
    /// Turns of one run of a crowd.
    pub(crate) turns: usize,
}

pub(crate) enum What {
    Report(Plan),
    /// Runs subjects without timing them, for a profiler.
    Repeat {
        times: u64,
        only: String,
    },
    /// Is the model server.
    Serve,
    /// Runs many turns at once in this process, and prints what that took.
    Crowd(Crowd),
}

impl What {
    pub(crate) fn from_command_line() -> Result<Self, Box<dyn Error>> {
        let mut plan = Plan {
            timing: TimingPlan {
                rounds: 25,
                slice: Duration::from_millis(60),
            },
            crowds: 7,
            turns: 2_048,
        };
        let (mut repeat, mut only) = (None, String::new());
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "serve" => return Ok(What::Serve),
                "crowd" => {
                    let words: Vec<String> = words.collect();
                    return Ok(What::Crowd(Crowd::from_words(&words)?));
                }
                "--quick" => {
                    plan.timing.rounds = 5;
                    plan.timing.slice = Duration::from_millis(25);
                    (plan.crowds, plan.turns) = (3, 512);
                }
                "--rounds" => plan.timing.rounds = number(words.next())?,
                "--slice-ms" => plan.timing.slice = Duration::from_millis(number(words.next())?),
                "--crowds" => plan.crowds = number(words.next())?,
                "--turns" => plan.turns = number(words.next())?,
                "--repeat" => repeat = Some(number(words.next())?),
                "--only" => only = words.next().unwrap_or_default(),
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        let TimingPlan { rounds, slice } = plan.timing;
        if rounds == 0 || slice.is_zero() || plan.crowds == 0 || plan.turns == 0 {
            return Err("rounds, slice, crowds and turns must be above zero".into());
        }
        Ok(match repeat {
            Some(times) => What::Repeat { times, only },
            None => What::Report(plan),
        })
    }
}

fn number<N: FromStr>(word: Option<String>) -> Result<N, Box<dyn Error>> {
    word.and_then(|word| word.parse().ok())
        .ok_or_else(|| "this option wants a whole number".into())
}
