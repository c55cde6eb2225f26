//! What happened in turns, counted.

use std::collections::HashMap;
use std::sync::Mutex;

use turnwright::{Event, EventKind, Repair, RepairKind};

/// Counts what happens.
#[derive(Default)]
pub(crate) struct Tally(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    /// By the call's id.
    repairs: HashMap<String, Vec<Repair>>,
    calls: usize,
    refused: usize,
    warnings: Vec<String>,
}

/// Whether it only fills in what the model left out.
pub(crate) fn is_default(repair: &Repair) -> bool {
    repair.kind == RepairKind::Default
}

impl Tally {
    pub(crate) fn note(&self, event: &Event) {
        let mut counts = self.lock();
        match &event.kind {
            EventKind::ToolExecutionStart { id, repairs, .. } => {
                counts.calls += 1;
                counts.repairs.insert(id.to_string(), repairs.clone());
            }
            EventKind::ToolCallRefused { .. } => counts.refused += 1,
            EventKind::Warning { message, .. } => counts.warnings.push(message.clone()),
            _ => {}
        }
    }

    /// What checking changed in the arguments of this call.
    pub(crate) fn repairs_of(&self, call: &str) -> Vec<Repair> {
        self.lock().repairs.get(call).cloned().unwrap_or_default()
    }

    /// The calls that ran.
    pub(crate) fn calls(&self) -> usize {
        self.lock().calls
    }

    /// The calls that were refused before their handler.
    pub(crate) fn refused(&self) -> usize {
        self.lock().refused
    }

    /// All repairs, save for defaults that were filled in.
    pub(crate) fn repairs(&self) -> usize {
        let counts = self.lock();
        let repairs = counts.repairs.values().flatten();
        repairs.filter(|repair| !is_default(repair)).count()
    }

    /// Words to operators, which are told once.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().warnings)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        // Counting does not panic, and what was counted stays true.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
