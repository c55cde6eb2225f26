//! What happened, as the parts of a prompt.

use std::sync::Arc;

use turnwright_core::record::{
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
    /// An instruction that came during the turn.
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
    /// Which response it was, where the protocol has kept that.
    mark: Option<String>,
}

impl ModelResponse {
    /// Whether a record that bears this mark belongs to it. Where nobody kept which response a record came of, a thought
    /// or a message begins another.
    fn takes(&self, record: &Record, mark: Option<&str>) -> bool {
        if self.mark.as_deref() != mark {
            return false;
        }
        mark.is_some()
            || match record {
                Record::ToolCall(call) => self.calls.iter().all(|it| proposed_beside(it, call)),
                Record::Message(_) => self.messages.is_empty() && self.calls.is_empty(),
                _ => false,
            }
    }

    fn put(&mut self, record: &Record) {
        match record {
            Record::Thought(thought) => self.thoughts.push(Arc::clone(thought)),
            Record::Message(message) => self.messages.push(Arc::clone(message)),
            Record::ToolCall(call) => self.calls.push(Arc::clone(call)),
            _ => {}
        }
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

/// Puts the records of a timeline into parts: those of one response together. What always holds is left to the caller.
pub(super) fn group<'r>(records: impl Iterator<Item = &'r Record>, protocol: &str) -> Vec<Grouped> {
    let mut parts: Vec<Grouped> = Vec::new();
    for record in records {
        let entry = match record {
            Record::Retrievable(found) => Entry::Retrievable(Arc::clone(found)),
            Record::Message(said) if *said.author() != Author::Assistant => {
                Entry::Message(Arc::clone(said))
            }
            Record::Message(_) | Record::Thought(_) | Record::ToolCall(_) => {
                let mark = ResponseState::read(state_of(record), protocol);
                let mark = mark.as_ref().map(ResponseState::response);
                if let Some(Grouped {
                    entry: Entry::Response(open),
                    records,
                }) = parts.last_mut()
                    && open.takes(record, mark)
                {
                    open.put(record);
                    records.push(record.clone());
                    continue;
                }
                let mut response = ModelResponse {
                    mark: mark.map(str::to_owned),
                    ..ModelResponse::default()
                };
                response.put(record);
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

pub(super) fn are_same(some: &[Record], others: &[Record]) -> bool {
    some.len() == others.len()
        && some
            .iter()
            .zip(others)
            .all(|(one, other)| is_same(one, other))
}
