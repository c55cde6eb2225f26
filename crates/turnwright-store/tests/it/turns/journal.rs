//! Files that are only ever added to: what a process that was killed has noted is there, each line whole.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What is written into one.
pub(crate) struct Journal(File);

impl Journal {
    pub(crate) fn open(path: &Path) -> Self {
        let mut options = OpenOptions::new();
        Journal(options.create(true).append(true).open(path).unwrap())
    }

    /// One call of the system, so that lines of several threads and processes do not mix.
    pub(crate) fn add(&self, lines: &str) {
        let text = format!("{lines}\n");
        let written = (&self.0).write(text.as_bytes()).unwrap();
        assert_eq!(written, text.len());
    }
}

/// The effects that calls had in the world, by their keys.
pub(crate) fn effects(folder: &Path) -> PathBuf {
    folder.join("effects")
}

/// What the processes did, in the order in which they did it.
pub(crate) fn journal(folder: &Path) -> PathBuf {
    folder.join("journal")
}

/// Once this file is there, a process that stopped and is to go on does so.
pub(crate) fn go(folder: &Path) -> PathBuf {
    folder.join("go")
}

pub(crate) fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Something that a process noted.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    /// The number of its process.
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
