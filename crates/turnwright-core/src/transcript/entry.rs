//! What happened, as the parts of a prompt.

use std::sync::Arc;

use crate::record::{
    Memory, Message, ProviderState, Record, Retrievable, StandingInstruction, Thought, ToolCall,
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
                Record::ToolCall(call) => {
                    // Calls of one response are proposed before any of them is settled.
                    let settled = self.calls.iter().filter_map(|call| call.completed_at());
                    settled.min().is_none_or(|at| call.created_at() <= at)
                }
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
            Record::Instruction(instruction) => Entry::Instruction(Arc::clone(instruction)),
            Record::Memory(memory) => Entry::Memory(Arc::clone(memory)),
            Record::Retrievable(found) => {
                open = None;
                Entry::Retrievable(Arc::clone(found))
            }
            Record::Message(message) if !message.is_answer() => {
                open = None;
                Entry::Message(Arc::clone(message))
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
