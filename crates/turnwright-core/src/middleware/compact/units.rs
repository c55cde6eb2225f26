//! The units of a timeline that are never split.

use std::sync::Arc;

use crate::record::{Author, Record, Retrievable, ToolCall};
use crate::transcript::{Entry, Grouped, group};

/// Records that are shown or replaced together: a message, a retrievable, or a response of the model with its calls and their
/// results.
#[derive(Debug)]
pub(super) struct Unit(Grouped);

impl Unit {
    pub(super) fn records(&self) -> &[Record] {
        &self.0.records
    }

    /// Returns whether an exchange starts with it: a message of a user or another agent.
    pub(super) fn opens(&self) -> bool {
        matches!(&self.0.entry, Entry::Message(message) if *message.author() != Author::Framework)
    }

    /// Returns the summary, if it is one.
    pub(super) fn summary(&self) -> Option<&Arc<Retrievable>> {
        match &self.0.entry {
            Entry::Retrievable(found) if found.covers().is_some() => Some(found),
            _ => None,
        }
    }

    pub(super) fn is_response(&self) -> bool {
        matches!(self.0.entry, Entry::Response(_))
    }

    pub(super) fn calls(&self) -> &[Arc<ToolCall>] {
        match &self.0.entry {
            Entry::Response(response) => &response.calls,
            _ => &[],
        }
    }

    /// Returns whether one of its calls can still get a result.
    pub(super) fn is_open(&self) -> bool {
        self.calls().iter().any(|call| call.is_open())
    }
}

/// Groups the records of a timeline, in order. Standing instructions and memories are in no unit: they are always shown.
pub(super) fn units(timeline: &[Record]) -> Vec<Unit> {
    let records = timeline
        .iter()
        .filter(|record| !record.kind().is_standing());
    group(records).into_iter().map(Unit).collect()
}
