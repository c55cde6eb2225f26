//! The command line.

use std::env;
use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use crate::left_behind::Case;
use crate::measure::Plan;
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
    /// Has turns wait in this process, and prints the bytes that each of them holds.
    Wait(Crowd),
    /// Runs turns in this process, and prints the bytes that they leave behind.
    Left(Case),
}

impl What {
    pub(crate) fn from_command_line() -> Result<Self, Box<dyn Error>> {
        let mut plan = Plan {
            rounds: 30,
            slice: Duration::from_millis(20),
        };
        let (mut turns, mut repeat, mut only) = (10_000, None, String::new());
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--rounds" => plan.rounds = number(words.next())?,
                "--slice-ms" => plan.slice = Duration::from_millis(number(words.next())?),
                "--turns" => turns = number(words.next())?,
                "--repeat" => repeat = Some(number(words.next())?),
                "--only" => only = words.next().unwrap_or_default(),
                "--wait" => {
                    let words: Vec<String> = words.collect();
                    return Ok(What::Wait(Crowd::from_words(&words)?));
                }
                "--left" => {
                    let word = words.next().unwrap_or_default();
                    return Ok(What::Left(Case::from_word(&word)?));
                }
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        if plan.rounds == 0 || plan.slice.is_zero() || turns == 0 {
            return Err("rounds, slice and turns must be above zero".into());
        }
        Ok(match repeat {
            Some(times) => What::Repeat { times, only },
            None => What::Report { plan, turns },
        })
    }
}

fn number<N: FromStr>(word: Option<String>) -> Result<N, Box<dyn Error>> {
    word.and_then(|word| word.parse().ok())
        .ok_or_else(|| "this option wants a whole number".into())
}
