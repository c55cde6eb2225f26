//! Append-only files: complete lines survive the kill of a process.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// An append-only file.
pub(crate) struct Journal(File);

impl Journal {
    pub(crate) fn open(path: &Path) -> Self {
        let mut options = OpenOptions::new();
        Journal(options.create(true).append(true).open(path).unwrap())
    }

    /// One system call, so that lines of several threads and processes do not mix.
    pub(crate) fn add(&self, lines: &str) {
        let text = format!("{lines}\n");
        let written = (&self.0).write(text.as_bytes()).unwrap();
        assert_eq!(written, text.len());
    }
}

/// The effects of calls on the outside world, by idempotency key.
pub(crate) fn effects(folder: &Path) -> PathBuf {
    folder.join("effects")
}

/// What the processes did, in order.
pub(crate) fn journal(folder: &Path) -> PathBuf {
    folder.join("journal")
}

/// Once this file exists, a stopped process that may continue does so.
pub(crate) fn go(folder: &Path) -> PathBuf {
    folder.join("go")
}

pub(crate) fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// An entry of a process.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    /// The number of the process.
    pub(crate) life: u32,
    pub(crate) what: String,
    pub(crate) fields: Vec<String>,
}

impl Noted {
    pub(crate) fn field(&self, at: usize) -> &str {
        &self.fields[at]
    }

    fn read(line: &str) -> Self {
        let mut parts = line.split('\t').map(str::to_owned);
        Noted {
            life: parts.next().unwrap().parse().unwrap(),
            what: parts.next().unwrap(),
            fields: parts.collect(),
        }
    }
}

pub(crate) fn noted(folder: &Path) -> Vec<Noted> {
    let lines = lines(&journal(folder));
    lines.iter().map(|line| Noted::read(line)).collect()
}
