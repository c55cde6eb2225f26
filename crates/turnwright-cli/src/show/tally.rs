//! What happened in turns, counted.

use std::sync::Mutex;

use turnwright::{Event, EventKind};

use super::repair::is_default;

/// Counts what happens.
#[derive(Default)]
pub(crate) struct Tally(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    repairs: usize,
    calls: usize,
    refused: usize,
    warnings: Vec<String>,
}

impl Tally {
    pub(crate) fn note(&self, event: &Event) {
        let mut counts = self.lock();
        match &event.kind {
            EventKind::ToolExecutionStart { repairs, .. } => {
                counts.calls += 1;
                let repairs = repairs.iter().filter(|repair| !is_default(repair));
                counts.repairs += repairs.count();
            }
            EventKind::ToolCallRefused { .. } => counts.refused += 1,
            EventKind::Warning { message, .. } => counts.warnings.push(message.clone()),
            _ => {}
        }
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
        self.lock().repairs
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
