//! The command line.

use std::env;
use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use crate::measure::Plan;

pub(crate) enum What {
    Report(Plan),
    /// Measures a conversation that grows, and nothing else.
    Growth,
    /// Runs subjects without timing them, for a profiler.
    Repeat {
        times: u64,
        only: String,
    },
}

impl What {
    pub(crate) fn from_command_line() -> Result<Self, Box<dyn Error>> {
        let mut plan = Plan {
            rounds: 30,
            slice: Duration::from_millis(20),
        };
        let (mut repeat, mut only) = (None, String::new());
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--rounds" => plan.rounds = number(words.next())?,
                "--slice-ms" => plan.slice = Duration::from_millis(number(words.next())?),
                "--repeat" => repeat = Some(number(words.next())?),
                "--growth" => return Ok(What::Growth),
                "--only" => only = words.next().unwrap_or_default(),
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        if plan.rounds == 0 || plan.slice.is_zero() {
            return Err("rounds and slice must be above zero".into());
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
