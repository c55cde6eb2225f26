//! The sides of each race.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::questions::{Question, ask};

pub(crate) const TURNWRIGHT: &str = "Turnwright";
pub(crate) const RIPGREP: &str = "rg -c -j1 --no-mmap";

/// The same question for several sides.
pub(crate) struct Race {
    pub(crate) name: &'static str,
    pub(crate) sides: Vec<Side>,
}

pub(crate) struct Side {
    pub(crate) name: &'static str,
    run: Run,
}

enum Run {
    Here(Question, PathBuf),
    Program(&'static str, Vec<String>),
}

impl Side {
    /// Returns `true` if the program is installed.
    pub(crate) fn is_installed(&self) -> bool {
        match &self.run {
            Run::Here(..) => true,
            Run::Program(program, _) => {
                let there = Command::new(program).arg("--version").output().is_ok();
                if !there {
                    eprintln!("{program} is not installed: skipped");
                }
                there
            }
        }
    }

    /// Returns the answer, and how long it took, including opening the file or starting the program.
    pub(crate) fn run(&self) -> Result<(String, Duration), Box<dyn Error>> {
        let start = Instant::now();
        let answer = match &self.run {
            Run::Here(question, file) => ask(question, file)?,
            Run::Program(program, words) => {
                let output = Command::new(program)
                    .env("LC_ALL", "C.UTF-8")
                    .args(words)
                    .output()?;
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
        };
        Ok((answer.trim_end().to_owned(), start.elapsed()))
    }
}

/// Returns the installed programs with their versions.
pub(crate) fn versions() -> String {
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().next().map(str::to_owned)
    };
    let found: Vec<String> = ["rg", "grep", "head", "tail"]
        .into_iter()
        .filter_map(version)
        .collect();
    found.join(", ")
}

fn here(question: Question, file: &Path) -> Side {
    Side {
        name: TURNWRIGHT,
        run: Run::Here(question, file.to_owned()),
    }
}

fn program(name: &'static str, program: &'static str, words: &[&str], file: &Path) -> Side {
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    words.push(file.display().to_string());
    Side {
        name,
        run: Run::Program(program, words),
    }
}

pub(crate) fn searches(log: &Path) -> Vec<Race> {
    let search = |name, pattern: &str| Race {
        name,
        sides: vec![
            here(Question::Count(pattern.to_owned()), log),
            program(
                RIPGREP,
                "rg",
                &["-c", "-j1", "--no-mmap", "-e", pattern],
                log,
            ),
            program("grep -c -E", "grep", &["-c", "-E", "-e", pattern], log),
        ],
    };
    vec![
        search("`ERROR`", "ERROR"),
        search("`ERROR\\|timeout\\|refused`", "ERROR|timeout|refused"),
        search("`user/[0-9]+7$`", "user/[0-9]+7$"),
        search("`[0-9]{3} ms$`", "[0-9]{3} ms$"),
        search("`request 0000`", "request 0000"),
    ]
}

pub(crate) fn ends(log: &Path) -> Vec<Race> {
    vec![
        Race {
            name: "first 10 lines",
            sides: vec![
                here(Question::Head(10), log),
                program("head -n 10", "head", &["-n", "10"], log),
            ],
        },
        Race {
            name: "last 10 lines",
            sides: vec![
                here(Question::Tail(10), log),
                program("tail -n 10", "tail", &["-n", "10"], log),
            ],
        },
    ]
}
