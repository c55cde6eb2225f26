//! A record of any kind.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    GateRecord, Lease, LedgerEntry, Memory, Message, Retrievable, Retrieved, StandingInstruction,
    Thought, ToolCall, ToolResults, TurnRecord,
};
use crate::artifact::SpooledArtifact;
use crate::media::Media;

/// Declares the kinds, the enum of records and the conversions.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($record:ident) = $name:literal, $into:ident;)+) => {
        /// A record of any kind.
        #[derive(Clone)]
        #[non_exhaustive]
        pub enum Record {
            $($(#[$doc])* $kind(Arc<$record>),)+
        }

        /// What sort of record.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum RecordKind {
            $($(#[$doc])* $kind,)+
        }

        impl Record {
            /// What sort of record it is.
            #[must_use]
            pub fn kind(&self) -> RecordKind {
                match self { $(Record::$kind(_) => RecordKind::$kind,)+ }
            }

            /// Its id, unique among those of its kind.
            #[must_use]
            pub fn id(&self) -> &str {
                match self { $(Record::$kind(record) => record.id(),)+ }
            }

            /// Whether two records are one and the same, and not only alike.
            pub(crate) fn is_same(&self, other: &Record) -> bool {
                match (self, other) {
                    $((Record::$kind(one), Record::$kind(other)) => Arc::ptr_eq(one, other),)+
                    _ => false,
                }
            }

            $(
                #[doc = concat!("The [`", stringify!($record), "`], if it is one.")]
                #[must_use]
                pub fn $into(self) -> Option<Arc<$record>> {
                    match self {
                        Record::$kind(record) => Some(record),
                        _ => None,
                    }
                }
            )+
        }

        names! { RecordKind { $($kind = $name,)+ } }

        impl RecordKind {
            /// The kind of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                RecordKind::ALL.iter().copied().find(|kind| kind.as_str() == name)
            }
        }

        $(impl RecordType for $record {
            const KIND: RecordKind = RecordKind::$kind;

            fn of(record: &Record) -> Option<&Arc<Self>> {
                match record {
                    Record::$kind(record) => Some(record),
                    _ => None,
                }
            }
        })+

        $(impl From<Arc<$record>> for Record {
            fn from(record: Arc<$record>) -> Self {
                Record::$kind(record)
            }
        })+

        impl fmt::Debug for Record {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Record::$kind(record) => record.fmt(f),)+ }
            }
        }
    };
}

kinds! {
    /// What always holds.
    Instruction(StandingInstruction) = "instruction", into_instruction;
    /// What is remembered.
    Memory(Memory) = "memory", into_memory;
    /// What was looked up.
    Retrievable(Retrievable) = "retrievable", into_retrievable;
    /// What was said.
    Message(Message) = "message", into_message;
    /// What the model thought.
    Thought(Thought) = "thought", into_thought;
    /// A call.
    ToolCall(ToolCall) = "tool_call", into_tool_call;
    /// A line of the ledger.
    Ledger(LedgerEntry) = "ledger", into_ledger;
    /// A turn, as far as it came.
    Turn(TurnRecord) = "turn", into_turn;
    /// A gate and its answer.
    Gate(GateRecord) = "gate", into_gate;
    /// Who runs the conversation's turn.
    Lease(Lease) = "lease", into_lease;
}

/// The type of the records of one kind.
pub(crate) trait RecordType: Sized {
    const KIND: RecordKind;

    /// The record, if it is of this type.
    fn of(record: &Record) -> Option<&Arc<Self>>;
}

impl RecordKind {
    /// Whether records of this kind always hold, instead of saying what happened.
    pub(crate) const fn is_standing(self) -> bool {
        matches!(self, RecordKind::Instruction | RecordKind::Memory)
    }

    /// Whether it is the books that a store keeps of turns and calls, which no prompt shows.
    ///
    /// ```
    /// use turnwright_core::RecordKind;
    ///
    /// assert!(RecordKind::Ledger.is_bookkeeping());
    /// assert!(!RecordKind::Message.is_bookkeeping());
    /// ```
    #[must_use]
    pub const fn is_bookkeeping(self) -> bool {
        use RecordKind::{Gate, Lease, Ledger, Turn};
        matches!(self, Ledger | Turn | Gate | Lease)
    }
}

impl Record {
    /// The ids under which a spool stores bytes for it, of its artifacts and of its media. What no record names can be swept.
    pub fn spool_ids(&self) -> impl Iterator<Item = &str> {
        let artifacts = self
            .artifacts()
            .iter()
            .filter_map(SpooledArtifact::spool_id);
        artifacts.chain(self.media().iter().filter_map(Media::spool_id))
    }

    /// The media that it holds.
    #[must_use]
    pub fn media(&self) -> &[Media] {
        match self {
            Record::Message(message) => message.media(),
            Record::ToolCall(call) => match call.results() {
                ToolResults::Media(media) => media,
                _ => &[],
            },
            Record::Retrievable(found) => match found.content() {
                Retrieved::Media(media) => std::slice::from_ref(media),
                Retrieved::Text(_) | Retrieved::Artifact(_) => &[],
            },
            _ => &[],
        }
    }

    /// The same record with other media, as many as it has.
    pub(crate) fn with_media(self, mut media: Vec<Media>) -> Self {
        match self {
            Record::Message(message) => Record::Message(message.with_media(media)),
            Record::ToolCall(call) => Record::ToolCall(call.with_media(media)),
            Record::Retrievable(found) => Record::Retrievable(match media.pop() {
                Some(media) => found.with_media(media),
                None => found,
            }),
            record => record,
        }
    }

    /// The artifacts that it holds.
    #[must_use]
    pub fn artifacts(&self) -> &[SpooledArtifact] {
        match self {
            Record::ToolCall(call) => match call.results() {
                ToolResults::Artifacts(artifacts) => artifacts,
                _ => &[],
            },
            Record::Retrievable(found) => match found.content() {
                Retrieved::Artifact(artifact) => std::slice::from_ref(artifact),
                Retrieved::Text(_) | Retrieved::Media(_) => &[],
            },
            _ => &[],
        }
    }
}
