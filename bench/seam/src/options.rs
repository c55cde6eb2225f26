//! The command line.

use std::{env, error::Error, str::FromStr, time::Duration};

use crate::measure::{Plan, Section, Subject};

/// Whether to time the subjects or just run them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode {
    Measure(Plan),
    Repeat(u64),
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    only: Option<String>,
    large: bool,
}

impl Options {
    pub(crate) fn from_command_line() -> Result<Self, Box<dyn Error>> {
        let mut plan = Plan {
            rounds: 30,
            slice: Duration::from_millis(20),
        };
        let (mut repeat, mut only, mut large) = (None, None, false);
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--rounds" => plan.rounds = number(words.next())?,
                "--slice-ms" => plan.slice = Duration::from_millis(number(words.next())?),
                "--repeat" => repeat = Some(number(words.next())?),
                "--only" => only = words.next(),
                "--large" => large = true,
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        if plan.rounds == 0 || plan.slice.is_zero() {
            return Err("rounds and slice must be above zero".into());
        }
        Ok(Self {
            mode: repeat.map_or(Mode::Measure(plan), Mode::Repeat),
            only,
            large,
        })
    }

    pub(crate) fn wants(&self, subject: &Subject<'_>) -> bool {
        let named = self
            .only
            .as_ref()
            .is_none_or(|only| subject.label.contains(only.as_str()));
        let unwanted_size = match self.mode {
            Mode::Measure(_) => None,
            Mode::Repeat(_) if self.large => Some(Section::Small),
            Mode::Repeat(_) => Some(Section::Large),
        };
        named && Some(subject.section) != unwanted_size
    }
}

fn number<N: FromStr>(word: Option<String>) -> Result<N, Box<dyn Error>> {
    word.and_then(|word| word.parse().ok())
        .ok_or_else(|| "this option wants a whole number".into())
}
