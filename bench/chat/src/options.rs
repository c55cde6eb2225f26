//! The command line.

use std::env;
use std::error::Error;

use turnwright_bench_measure::{self as measure, number};

use crate::crowd::Crowd;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) timing: measure::Plan,
    /// How often each crowd runs, each time in a separate process.
    pub(crate) crowds: usize,
    /// The number of turns in one run of a crowd.
    pub(crate) turns: usize,
}

pub(crate) enum What {
    Report(Plan),
    /// Runs subjects without timing them, for a profiler.
    Repeat {
        times: u64,
        only: String,
    },
    /// Runs the model server.
    Serve,
    /// Runs many concurrent turns in this process, and prints the measurements.
    Crowd(Crowd),
}

impl What {
    pub(crate) fn from_command_line() -> Result<Self, Box<dyn Error>> {
        let mut plan = Plan {
            timing: measure::Plan::new(25, 60),
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
                    plan.timing = measure::Plan::new(5, 25);
                    (plan.crowds, plan.turns) = (3, 512);
                }
                "--crowds" => plan.crowds = number(&mut words)?,
                "--turns" => plan.turns = number(&mut words)?,
                "--repeat" => repeat = Some(number(&mut words)?),
                "--only" => only = words.next().unwrap_or_default(),
                word => plan.timing.option(word, &mut words)?,
            }
        }
        Ok(match repeat {
            Some(times) => What::Repeat { times, only },
            None => What::Report(plan),
        })
    }
}
