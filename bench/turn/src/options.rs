//! The command line.

use std::env;
use std::error::Error;

use turnwright_bench_measure::{Plan, number};

use crate::left_behind::Case;
use crate::waiting::Crowd;

pub(crate) enum What {
    Report {
        plan: Plan,
        turns: usize,
    },
    /// Runs subjects without timing them, for a profiler.
    Repeat {
        times: u64,
        only: String,
    },
    /// Lets turns wait in this process, and prints the bytes per turn.
    Wait(Crowd),
    /// Runs turns in this process, and prints the bytes that they leave behind.
    Left(Case),
}

impl What {
    pub(crate) fn from_command_line() -> Result<Self, Box<dyn Error>> {
        let mut plan = Plan::new(30, 20);
        let (mut turns, mut repeat, mut only) = (10_000, None, String::new());
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--turns" => turns = number(&mut words)?,
                "--repeat" => repeat = Some(number(&mut words)?),
                "--only" => only = words.next().unwrap_or_default(),
                "--wait" => {
                    let words: Vec<String> = words.collect();
                    return Ok(What::Wait(Crowd::from_words(&words)?));
                }
                "--left" => {
                    let word = words.next().unwrap_or_default();
                    return Ok(What::Left(Case::from_word(&word)?));
                }
                word => plan.option(word, &mut words)?,
            }
        }
        Ok(match repeat {
            Some(times) => What::Repeat { times, only },
            None => What::Report { plan, turns },
        })
    }
}
