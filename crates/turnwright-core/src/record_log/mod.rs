//! The records of one turn, in order.

mod entries;

use std::sync::Arc;

pub(crate) use entries::Origin;

use crate::record::{
    Memory, Message, Record, RecordKind, Retrievable, StandingInstruction, Thought, ToolCall,
};
use entries::{Counts, Entries, Place};

/// One table makes what is held of each kind of record and how it is reached.
macro_rules! records {
    ($($field:ident: $kind:ident($record:ident);)+) => {
        #[derive(Default)]
        pub(crate) struct Records {
            $(pub(crate) $field: Entries<$record>,)+
            counts: Counts,
        }

        impl Records {
            /// Adds a record or replaces that of the same id. Gives what it let go of.
            pub(crate) fn put(&mut self, record: &Record, origin: Origin) -> [Option<Record>; 2] {
                match record {
                    $(Record::$kind(record) => self
                        .$field
                        .put(record.id(), record, origin, &mut self.counts)
                        .map(|gone| gone.map(Record::$kind)),)+
                    // The store's own.
                    Record::Ledger(_) | Record::Turn(_) | Record::Gate(_) | Record::Lease(_) => {
                        [None, None]
                    }
                }
            }

            pub(crate) fn forget(&mut self, kind: RecordKind, id: &str) -> [Option<Record>; 2] {
                match kind {
                    $(RecordKind::$kind => self
                        .$field
                        .forget(id)
                        .map(|gone| gone.map(Record::$kind)),)+
                    RecordKind::Ledger
                    | RecordKind::Turn
                    | RecordKind::Gate
                    | RecordKind::Lease => [None, None],
                }
            }

            pub(crate) fn all(&self) -> Vec<Record> {
                let mut all: Vec<(Place, Record)> = Vec::new();
                $(for one in self.$field.all() {
                    let place = match RecordKind::$kind.is_standing() {
                        true => one.changed,
                        false => one.place,
                    };
                    all.push((place, Record::$kind(Arc::clone(&one.record))));
                })+
                in_order(all)
            }

            /// What this turn stored, as the store has it and in its order.
            pub(crate) fn stored(&self) -> Vec<Record> {
                let mut all: Vec<(u64, Record)> = Vec::new();
                $(for (since, record) in self.$field.stored() {
                    all.push((since, Record::$kind(Arc::clone(record))));
                })+
                in_order(all)
            }
        }
    };
}

records! {
    instructions: Instruction(StandingInstruction);
    memories: Memory(Memory);
    retrievables: Retrievable(Retrievable);
    messages: Message(Message);
    thoughts: Thought(Thought);
    tool_calls: ToolCall(ToolCall);
}

impl Records {
    pub(crate) fn last_answer(&self) -> Option<Arc<Message>> {
        let mut of_this_turn = self
            .messages
            .all()
            .rev()
            .take_while(|one| one.place.in_this_turn);
        let answer = of_this_turn.find(|one| one.record.is_answer());
        answer.map(|one| Arc::clone(&one.record))
    }
}

fn in_order<P: Ord>(mut all: Vec<(P, Record)>) -> Vec<Record> {
    all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    all.into_iter().map(|(_, record)| record).collect()
}
