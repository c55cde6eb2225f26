//! The command line.

use std::env;
use std::error::Error;

use turnwright_bench_measure::{Plan, number};

pub(crate) enum What {
    Report(Plan),
    /// Measures only a growing conversation.
    Growth,
    /// Runs subjects without timing them, for a profiler.
    Repeat {
        times: u64,
        only: String,
    },
}

impl What {
    pub(crate) fn from_command_line() -> Result<Self, Box<dyn Error>> {
        let mut plan = Plan::new(30, 20);
        let (mut repeat, mut only) = (None, String::new());
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--repeat" => repeat = Some(number(&mut words)?),
                "--growth" => return Ok(What::Growth),
                "--only" => only = words.next().unwrap_or_default(),
                word => plan.option(word, &mut words)?,
            }
        }
        Ok(match repeat {
            Some(times) => What::Repeat { times, only },
            None => What::Report(plan),
        })
    }
}
