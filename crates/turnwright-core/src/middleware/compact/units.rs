//! Groups the records of a timeline into units that are never split.

use std::sync::Arc;

use crate::record::{Author, Record, Retrievable, ToolCall};

/// Records that are shown or replaced together: a message, a retrievable, or a response of the model with its calls and their
/// results.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) records: Vec<Record>,
    /// The id of the response, if it has one.
    response: Option<String>,
}

impl Unit {
    fn new(record: &Record) -> Self {
        Unit {
            records: vec![record.clone()],
            response: response_of(record),
        }
    }

    /// Returns whether an exchange starts with it: a message of a user or another agent.
    pub(super) fn opens(&self) -> bool {
        matches!(self.records.first(), Some(Record::Message(message))
            if matches!(message.author(), Author::User | Author::Agent { .. }))
    }

    /// Returns the summary, if it is one.
    pub(super) fn summary(&self) -> Option<&Arc<Retrievable>> {
        match self.records.first() {
            Some(Record::Retrievable(found)) if found.covers().is_some() => Some(found),
            _ => None,
        }
    }

    pub(super) fn is_response(&self) -> bool {
        self.records.first().is_some_and(is_of_model)
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.records.iter().filter_map(|record| match record {
            Record::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns whether one of its calls can still get a result.
    pub(super) fn is_open(&self) -> bool {
        self.calls().any(|call| call.is_open())
    }

    /// Returns whether a record of the model belongs to the same response. Without the id of a response, a thought or a
    /// message after something else starts another response, and so does a call that was proposed after another one had ended.
    fn takes(&self, record: &Record) -> bool {
        if !self.is_response() || !is_of_model(record) {
            return false;
        }
        let response = response_of(record);
        if response.is_some() || self.response.is_some() {
            return response == self.response;
        }
        match record {
            Record::ToolCall(call) => {
                let ended = self.calls().filter_map(|call| call.completed_at());
                ended.min().is_none_or(|at| call.created_at() <= at)
            }
            Record::Message(_) => {
                let thought = |record: &Record| matches!(record, Record::Thought(_));
                self.records.iter().all(thought)
            }
            _ => false,
        }
    }
}

/// Groups the records of a timeline, in order. Standing instructions and memories are in no unit: they are always shown.
pub(super) fn units(timeline: &[Record]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for record in timeline {
        if record.kind().is_standing() {
            continue;
        }
        match units.last_mut() {
            Some(last) if last.takes(record) => last.records.push(record.clone()),
            _ => units.push(Unit::new(record)),
        }
    }
    units
}

fn is_of_model(record: &Record) -> bool {
    match record {
        Record::Message(message) => message.is_answer(),
        Record::Thought(_) | Record::ToolCall(_) => true,
        _ => false,
    }
}
fn response_of(record: &Record) -> Option<String> {
    record.response().map(|response| response.id().to_owned())
}
