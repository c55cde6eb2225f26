//! The command line.

use std::{env, error::Error};

use turnwright_bench_measure::{Plan, Subject, number};

use crate::section;

/// Whether to time the subjects or only run them.
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
        let mut plan = Plan::new(30, 20);
        let (mut repeat, mut only, mut large) = (None, None, false);
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--repeat" => repeat = Some(number(&mut words)?),
                "--only" => only = words.next(),
                "--large" => large = true,
                word => plan.option(word, &mut words)?,
            }
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
            Mode::Repeat(_) if self.large => Some(section::SMALL),
            Mode::Repeat(_) => Some(section::LARGE),
        };
        named && Some(subject.section) != unwanted_size
    }
}
