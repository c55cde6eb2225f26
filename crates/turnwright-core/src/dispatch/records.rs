//! The records of a turn, as they are now.

use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::RwLock;

use super::DispatchContext;
use crate::record::{Memory, Message, Retrievable, StandingInstruction, Thought, ToolCall};

/// Records by their id, in the order in which they came.
pub(super) type ById<T> = RwLock<IndexMap<String, Arc<T>>>;

/// One table makes what is held of each kind of record and how it is reached.
macro_rules! records {
    ($($field:ident: $record:ident, $get:ident, $store:ident, $what:literal;)+) => {
        #[derive(Default)]
        pub(super) struct Records {
            $(pub(super) $field: ById<$record>,)+
        }

        impl DispatchContext {
            $(
                #[doc = concat!("The ", $what, " of this turn, in order, as they are now.")]
                #[must_use]
                pub fn $get(&self) -> Vec<Arc<$record>> {
                    self.records().$field.read().values().cloned().collect()
                }

                #[doc = concat!("Adds to the ", $what, " of this turn, or replaces that of the same id.")]
                pub fn $store(&self, record: Arc<$record>) {
                    self.records().$field.write().insert(record.id().to_owned(), record);
                }
            )+
        }
    };
}

records! {
    instructions: StandingInstruction, instructions, store_instruction, "standing instructions";
    memories: Memory, memories, store_memory, "memories";
    retrievables: Retrievable, retrievables, store_retrievable, "retrievables";
    messages: Message, messages, store_message, "messages";
    thoughts: Thought, thoughts, store_thought, "thoughts";
    tool_calls: ToolCall, tool_calls, store_tool_call, "calls";
}

impl DispatchContext {
    /// The call of that id, if it is one of this turn's.
    #[must_use]
    pub fn tool_call(&self, id: &str) -> Option<Arc<ToolCall>> {
        self.records().tool_calls.read().get(id).cloned()
    }
}
