//! The environment of a process: its orders, the outside world, and its journal.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::journal::{self, Journal};
use super::stages::{Stage, Stop};
use crate::child::say;

/// The orders of a process.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    pub(crate) folder: PathBuf,
    /// Its unique number.
    pub(crate) life: u32,
    pub(crate) task: Task,
    /// Only the turns of this conversation.
    pub(crate) only: Option<String>,
    pub(crate) stop: Option<Stop>,
    pub(crate) lease: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Runs the turns of the script.
    Begin,
    /// Resumes unfinished turns of the store, and runs those that never began.
    GoOn,
    /// Resumes unfinished turns of the store.
    TakeUp,
    /// The same, when signalled.
    TakeUpAtOnce,
}

const TASKS: &[(Task, &str)] = &[
    (Task::Begin, "begin"),
    (Task::GoOn, "go on"),
    (Task::TakeUp, "take up"),
    (Task::TakeUpAtOnce, "take up at once"),
];

impl Orders {
    pub(crate) fn to_text(&self) -> String {
        let name = TASKS.iter().find(|(task, _)| *task == self.task);
        let stop = self.stop.as_ref().map(Stop::to_value);
        let orders = json!({
            "folder": self.folder.to_str(), "life": self.life, "task": name.map(|item| item.1),
            "only": self.only, "stop": stop, "leaseMs": self.lease.as_millis() as u64,
        });
        orders.to_string()
    }

    pub(crate) fn from_text(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).unwrap();
        let named = |(_, name): &&(Task, &str)| value["task"] == *name;
        Orders {
            folder: value["folder"].as_str().unwrap().into(),
            life: value["life"].as_u64().unwrap() as u32,
            task: TASKS.iter().find(named).unwrap().0,
            only: value["only"].as_str().map(str::to_owned),
            stop: Stop::from_value(&value["stop"]),
            lease: Duration::from_millis(value["leaseMs"].as_u64().unwrap()),
        }
    }
}

/// Shared by the turns of a process.
pub(crate) struct World {
    orders: Orders,
    journal: Journal,
    effects: Journal,
    arrived: AtomicU32,
    /// The conversations whose leases were renewed.
    renewed: Mutex<HashSet<String>>,
}

impl World {
    pub(crate) fn new(orders: Orders) -> Self {
        let folder = &orders.folder;
        World {
            journal: Journal::open(&journal::journal(folder)),
            effects: Journal::open(&journal::effects(folder)),
            orders,
            arrived: AtomicU32::new(0),
            renewed: Mutex::default(),
        }
    }

    pub(crate) fn orders(&self) -> &Orders {
        &self.orders
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.orders.folder
    }

    /// Returns a line of the journal.
    pub(crate) fn line(&self, what: &str, fields: &[&str]) -> String {
        format!("{}\t{what}\t{}", self.orders.life, fields.join("\t"))
    }

    pub(crate) fn note(&self, what: &str, fields: &[&str]) {
        self.note_all(&[self.line(what, fields)]);
    }

    pub(crate) fn note_all(&self, lines: &[String]) {
        if !lines.is_empty() {
            self.journal.add(&lines.join("\n"));
        }
    }

    /// Records the effect of a call, once per run.
    pub(crate) fn take_effect(&self, idempotency_key: &str) {
        self.effects.add(idempotency_key);
    }

    pub(crate) fn has_effect(&self, idempotency_key: &str) -> bool {
        let effects = journal::lines(&journal::effects(self.folder()));
        effects.iter().any(|key| key == idempotency_key)
    }

    pub(crate) fn note_renewed(&self, conversation: &str) {
        let mut renewed = self.renewed.lock().unwrap();
        renewed.insert(conversation.to_owned());
    }

    pub(crate) fn was_renewed(&self, conversation: &str) -> bool {
        self.renewed.lock().unwrap().contains(conversation)
    }

    /// Reaches a stage, and stops there if the orders say so.
    pub(crate) fn arrive(&self, stage: Stage, conversation: &str) {
        self.note("stage", &[&stage.name(), conversation]);
        let Some(stop) = &self.orders.stop else {
            return;
        };
        if !stop.is_at(stage, conversation)
            || self.arrived.fetch_add(1, Ordering::Relaxed) + 1 != stop.nth
        {
            return;
        }
        say(&format!("at {}", stage.name()));
        while !stop.continues || !self.may_go_on() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn may_go_on(&self) -> bool {
        journal::go(self.folder()).exists()
    }
}
