//! The command line.

use std::env;
use std::error::Error;
use std::path::PathBuf;

use turnwright_bench_measure::number;

use crate::questions::Question;

pub(crate) enum What {
    Report { mib: u64, rounds: usize },
    Ask { question: Question, file: PathBuf },
}

pub(crate) struct Options {
    pub(crate) what: What,
}

impl Options {
    pub(crate) fn from_command_line() -> Result<Self, Box<dyn Error>> {
        let (mut mib, mut rounds) = (1024, 7);
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--mib" => mib = number(&mut words)?,
                "--rounds" => rounds = number(&mut words)?,
                "--ask" => {
                    let mut words: Vec<String> = words.collect();
                    let file = words
                        .pop()
                        .ok_or("--ask needs a question and a file")?
                        .into();
                    let question = Question::from_words(&words)?;
                    let what = What::Ask { question, file };
                    return Ok(Options { what });
                }
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        let what = What::Report { mib, rounds };
        Ok(Options { what })
    }
}
