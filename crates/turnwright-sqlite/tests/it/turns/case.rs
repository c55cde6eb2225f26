//! A store and the processes that use it, one after the other or concurrently.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, ExitStatus};
use std::time::Duration;

use super::child;
use super::journal::{self, Journal};
use super::stages::Stop;
use super::world::{Orders, Task};
use crate::child::reported;
use crate::folder::Folder;

/// Short, so that the next process waits only briefly.
pub(crate) const LEASE: Duration = Duration::from_millis(100);

pub(crate) struct Case {
    folder: Folder,
    journal: Journal,
    lives: u32,
    pub(crate) only: Option<String>,
    pub(crate) kills: u32,
}

/// A process.
pub(crate) struct Life {
    number: u32,
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) output: Vec<String>,
}

impl Case {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        Case {
            journal: Journal::open(&journal::journal(folder.path())),
            folder,
            lives: 0,
            only: None,
            kills: 0,
        }
    }

    /// Only with the turns of one conversation.
    pub(crate) fn of(conversation: &str) -> Self {
        let mut case = Case::new();
        case.only = Some(conversation.to_owned());
        case
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn start(&mut self, task: Task, stop: Option<Stop>) -> Life {
        self.start_with(task, stop, LEASE)
    }

    pub(crate) fn start_with(&mut self, task: Task, stop: Option<Stop>, lease: Duration) -> Life {
        self.lives += 1;
        let orders = Orders {
            folder: self.folder().to_owned(),
            life: self.lives,
            task,
            only: self.only.clone(),
            stop,
            lease,
        };
        let mut process = child::command(&orders).spawn().unwrap();
        let out = process.stdout.take().unwrap();
        Life {
            number: self.lives,
            process,
            lines: BufReader::new(out).lines(),
            output: Vec::new(),
        }
    }

    /// Kills the process. Returns whether it was still running.
    pub(crate) fn kill(&mut self, mut life: Life) -> bool {
        life.process.kill().unwrap();
        life.process.wait().unwrap();
        life.read_remaining();
        if life.output.iter().any(|item| item == "done") {
            return false;
        }
        self.note_cut_off(&life);
        self.kills += 1;
        true
    }

    /// Records that the process was cut off: from here on, others may take over its turns.
    pub(crate) fn note_cut_off(&self, life: &Life) {
        self.journal.add(&format!("{}\tcut off", life.number));
    }

    /// Lets a process run to its end. Returns its reports.
    pub(crate) fn finish(&mut self, task: Task) -> Vec<String> {
        self.start(task, None).end()
    }
}

impl Life {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Reads reports until one starts with `beginning`. Returns `None` if the process ended before.
    pub(crate) fn wait_for(&mut self, beginning: &str) -> Option<String> {
        loop {
            let line = self.lines.next()?.unwrap();
            let Some(output) = reported(&line).map(str::to_owned) else {
                continue;
            };
            self.output.push(output.clone());
            if output.starts_with(beginning) {
                return Some(output);
            }
        }
    }

    fn read_remaining(&mut self) {
        while self.wait_for("done").is_some() {}
    }

    /// Waits for a successful end. Returns the reports.
    pub(crate) fn end(mut self) -> Vec<String> {
        self.read_remaining();
        let status: ExitStatus = self.process.wait().unwrap();
        assert!(status.success(), "{status}: {:?}", self.output);
        assert!(
            self.output.iter().any(|item| item == "done"),
            "{:?}",
            self.output
        );
        std::mem::take(&mut self.output)
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // A process that a test abandoned; most have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
