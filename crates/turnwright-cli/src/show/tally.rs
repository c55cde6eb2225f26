//! Counts of what happened in turns.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnwright::event::{Event, EventKind};

use super::repair::is_default;

/// Counts of what happened in turns. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<Counts>>);

#[derive(Default)]
pub(crate) struct Counts {
    /// All repairs, except defaults.
    pub(crate) repairs: usize,
    /// The calls that ran.
    pub(crate) calls: usize,
    /// The calls that were refused before their handler ran.
    pub(crate) refused: usize,
    /// Warnings for operators that were not shown yet.
    pub(crate) warnings: Vec<String>,
    /// All warnings so far. Each is shown once.
    warned: HashSet<String>,
}

impl Tally {
    pub(super) fn count(&self, event: &Event) {
        let mut counts = self.counts();
        match &event.kind {
            EventKind::ToolExecutionStart { repairs, .. } => {
                counts.calls += 1;
                let repairs = repairs.iter().filter(|repair| !is_default(repair));
                counts.repairs += repairs.count();
            }
            EventKind::ToolCallRefused { .. } => counts.refused += 1,
            EventKind::Warning { message, .. } if counts.warned.insert(message.clone()) => {
                counts.warnings.push(message.clone());
            }
            _ => {}
        }
    }

    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
