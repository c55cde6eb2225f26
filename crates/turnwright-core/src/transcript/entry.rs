//! What happened, as the parts of a prompt.

use std::sync::Arc;

use crate::record::{
    Author, Memory, Message, ProviderState, Record, Retrievable, StandingInstruction, Thought,
    ToolCall,
};

use super::state::ResponseState;

/// One part of what happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Entry {
    /// What a person, another agent or the framework said.
    Message(Arc<Message>),
    /// What was looked up.
    Retrievable(Arc<Retrievable>),
    /// An instruction that came or changed during the turn.
    Instruction(Arc<StandingInstruction>),
    /// A memory that came or changed during the turn.
    Memory(Arc<Memory>),
    /// What the model thought, said and called in one response, and what came of the calls.
    Response(ModelResponse),
}

/// What a model thought, said and called in one response.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelResponse {
    /// What it thought.
    pub thoughts: Vec<Arc<Thought>>,
    /// What it said: one, unless the protocol that wrote it knows more than one.
    pub messages: Vec<Arc<Message>>,
    /// What it called, in its order.
    pub calls: Vec<Arc<ToolCall>>,
    /// What the protocol has kept with what was thought or said.
    state: Option<Box<ResponseState>>,
    /// What it has kept with each call.
    call_states: Vec<Option<ResponseState>>,
}

impl ModelResponse {
    /// What the protocol has kept with it: where it came from, and whether it was cut off, all of its records say alike.
    pub fn state(&self) -> Option<&ResponseState> {
        let of_first_call = || self.call_states.first().and_then(Option::as_ref);
        self.state.as_deref().or_else(of_first_call)
    }

    /// Its calls, each with what the protocol has kept with it.
    pub fn calls_with_states(
        &self,
    ) -> impl Iterator<Item = (&Arc<ToolCall>, Option<&ResponseState>)> {
        let states = self.call_states.iter().map(Option::as_ref);
        self.calls.iter().zip(states)
    }

    /// Whether a record of this state belongs to it. Where nobody kept which response a record came of, a thought or a
    /// message begins another.
    fn takes(&self, record: &Record, state: Option<&ResponseState>) -> bool {
        let mark = state.map(ResponseState::response);
        if self.state().map(ResponseState::response) != mark {
            return false;
        }
        mark.is_some()
            || match record {
                Record::ToolCall(call) => self.calls.iter().all(|it| proposed_beside(it, call)),
                Record::Message(_) => self.messages.is_empty() && self.calls.is_empty(),
                _ => false,
            }
    }

    fn put(&mut self, record: &Record, state: Option<ResponseState>) {
        match record {
            Record::ToolCall(call) => {
                self.calls.push(Arc::clone(call));
                self.call_states.push(state);
                return;
            }
            Record::Thought(thought) => self.thoughts.push(Arc::clone(thought)),
            Record::Message(message) => self.messages.push(Arc::clone(message)),
            _ => return,
        }
        self.state = self.state.take().or(state.map(Box::new));
    }
}

/// Whether a call may have been proposed together with one before it: it was before that one was settled.
fn proposed_beside(before: &ToolCall, call: &ToolCall) -> bool {
    let settled = before.completed_at();
    settled.is_none_or(|at| call.created_at() <= at)
}

/// A part, and the records that it was made of.
#[derive(Clone, Debug)]
pub(super) struct Grouped {
    pub(super) entry: Entry,
    pub(super) records: Vec<Record>,
}

/// Puts records into parts, in their order. The records of one response form one part, which a standing record in
/// between does not divide: it follows the part.
pub(super) fn group<'r>(records: impl Iterator<Item = &'r Record>, protocol: &str) -> Vec<Grouped> {
    let mut parts: Vec<Grouped> = Vec::new();
    // The response that the next record may belong to.
    let mut open: Option<usize> = None;
    for record in records {
        let entry = match record {
            Record::Instruction(it) => Entry::Instruction(Arc::clone(it)),
            Record::Memory(it) => Entry::Memory(Arc::clone(it)),
            Record::Retrievable(found) => {
                open = None;
                Entry::Retrievable(Arc::clone(found))
            }
            Record::Message(said) if *said.author() != Author::Assistant => {
                open = None;
                Entry::Message(Arc::clone(said))
            }
            Record::Message(_) | Record::Thought(_) | Record::ToolCall(_) => {
                let state = ResponseState::read(state_of(record), protocol);
                if let Some(Grouped {
                    entry: Entry::Response(response),
                    records,
                }) = open.and_then(|at| parts.get_mut(at))
                    && response.takes(record, state.as_ref())
                {
                    response.put(record, state);
                    records.push(record.clone());
                    continue;
                }
                open = Some(parts.len());
                let mut response = ModelResponse::default();
                response.put(record, state);
                Entry::Response(response)
            }
            _ => continue,
        };
        let records = vec![record.clone()];
        parts.push(Grouped { entry, records });
    }
    parts
}

fn state_of(record: &Record) -> Option<&ProviderState> {
    match record {
        Record::Message(message) => message.provider_state(),
        Record::Thought(thought) => thought.provider_state(),
        Record::ToolCall(call) => call.provider_state(),
        _ => None,
    }
}

/// Whether two records are one and the same, and not only alike.
pub(super) fn is_same(one: &Record, other: &Record) -> bool {
    match (one, other) {
        (Record::Message(one), Record::Message(other)) => Arc::ptr_eq(one, other),
        (Record::Thought(one), Record::Thought(other)) => Arc::ptr_eq(one, other),
        (Record::ToolCall(one), Record::ToolCall(other)) => Arc::ptr_eq(one, other),
        (Record::Retrievable(one), Record::Retrievable(other)) => Arc::ptr_eq(one, other),
        (Record::Memory(one), Record::Memory(other)) => Arc::ptr_eq(one, other),
        (Record::Instruction(one), Record::Instruction(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

/// Whether two standing records have the same id and the same text.
pub(super) fn says_the_same(one: &Record, other: &Record) -> bool {
    match (one, other) {
        (Record::Memory(one), Record::Memory(other)) => {
            one.id() == other.id() && one.text() == other.text()
        }
        (Record::Instruction(one), Record::Instruction(other)) => {
            one.id() == other.id() && one.text() == other.text()
        }
        _ => false,
    }
}

pub(super) fn are_same(some: &[Record], others: &[Record]) -> bool {
    some.len() == others.len()
        && some
            .iter()
            .zip(others)
            .all(|(one, other)| is_same(one, other))
}
