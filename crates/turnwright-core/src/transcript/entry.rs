//! The entries of a transcript.

use std::sync::Arc;

use crate::record::{
    Memory, Message, Record, ResponseRef, Retrievable, StandingInstruction, Thought, ToolCall,
};

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
    response: Option<ResponseRef>,
}

impl ModelResponse {
    /// Returns the id that its records share. `None` if they have none and were grouped by their order.
    pub(super) fn response_id(&self) -> Option<&str> {
        self.response.as_ref().map(ResponseRef::id)
    }

    /// Returns why the response was cut off, if it was.
    #[must_use]
    pub fn why_cut(&self) -> Option<&str> {
        self.response.as_ref().and_then(ResponseRef::why_cut)
    }

    /// Returns whether a record belongs to this response. Among records without a response id, a thought or a message starts
    /// another response.
    fn takes(&self, record: &Record) -> bool {
        let id = record.response().map(ResponseRef::id);
        if self.response_id() != id {
            return false;
        }
        id.is_some()
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

    fn put(&mut self, record: &Record) {
        match record {
            Record::ToolCall(call) => self.calls.push(Arc::clone(call)),
            Record::Thought(thought) => self.thoughts.push(Arc::clone(thought)),
            Record::Message(message) => self.messages.push(Arc::clone(message)),
            _ => return,
        }
        if self.response.is_none() {
            self.response = record.response().cloned();
        }
    }
}

/// An entry and the records it consists of.
#[derive(Clone, Debug)]
pub(crate) struct Grouped {
    pub(crate) entry: Entry,
    pub(crate) records: Vec<Record>,
}

/// Groups records into entries, in order. The records of one response form one entry. An instruction or memory in between does
/// not split the response; it follows it.
pub(crate) fn group<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<Grouped> {
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
                if let Some(Grouped {
                    entry: Entry::Response(response),
                    records,
                }) = open.and_then(|at| parts.get_mut(at))
                    && response.takes(record)
                {
                    response.put(record);
                    records.push(record.clone());
                    continue;
                }
                open = Some(parts.len());
                let mut response = ModelResponse::default();
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
