//! The entries of a transcript.

use std::sync::Arc;

use crate::record::{
    Memory, Message, ProviderState, Record, Retrievable, StandingInstruction, Thought, ToolCall,
};

use super::state::ResponseState;

/// One entry of a transcript.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Entry {
    /// A message of the user, another agent or the framework.
    Message(Arc<Message>),
    /// A retrievable.
    Retrievable(Arc<Retrievable>),
    /// A standing instruction that was added or changed during the turn.
    Instruction(Arc<StandingInstruction>),
    /// A memory that was added or changed during the turn.
    Memory(Arc<Memory>),
    /// One response of the model, with the results of its calls.
    Response(ModelResponse),
}

/// The thoughts, messages and calls of one model response.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelResponse {
    /// The thoughts.
    pub thoughts: Vec<Arc<Thought>>,
    /// The messages. Usually one, unless the protocol supports several.
    pub messages: Vec<Arc<Message>>,
    /// The calls, in order.
    pub calls: Vec<Arc<ToolCall>>,
    /// The protocol's state for the thoughts and messages.
    state: Option<Box<ResponseState>>,
    /// The protocol's state for each call.
    call_states: Vec<Option<ResponseState>>,
}

impl ModelResponse {
    /// Returns the state that the protocol stored with the response. The origin and whether the response was truncated are the
    /// same in all of its records.
    pub fn state(&self) -> Option<&ResponseState> {
        let of_first_call = || self.call_states.first().and_then(Option::as_ref);
        self.state.as_deref().or_else(of_first_call)
    }

    /// Returns the calls, each with the state that the protocol stored with it.
    pub fn calls_with_states(
        &self,
    ) -> impl Iterator<Item = (&Arc<ToolCall>, Option<&ResponseState>)> {
        let states = self.call_states.iter().map(Option::as_ref);
        self.calls.iter().zip(states)
    }

    /// Returns whether a record with this state belongs to this response. For records without state, a thought or a message
    /// starts another response.
    fn takes(&self, record: &Record, state: Option<&ResponseState>) -> bool {
        let mark = state.map(ResponseState::response);
        if self.state().map(ResponseState::response) != mark {
            return false;
        }
        mark.is_some()
            || match record {
                Record::ToolCall(call) => {
                    // The calls of one response are proposed before any of them is settled.
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

/// An entry and the records it consists of.
#[derive(Clone, Debug)]
pub(super) struct Grouped {
    pub(super) entry: Entry,
    pub(super) records: Vec<Record>,
}

/// Groups records into entries, in order. The records of one response form one entry. An instruction or memory in between does
/// not split the response; it follows it.
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
