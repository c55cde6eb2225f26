//! A record of any kind: an enum of shared records, each of which has its own id and times.
//!
//! Why not `struct Record { id, created_at, updated_at, body: Body }`: events, outcomes, contexts and prompts hand out
//! `Arc<Message>`, `Arc<ToolCall>` and so on, and each must know its id there. Five of the eleven kinds have other times: ledger
//! entries, turns and gates start and end, a lease is renewed, and metadata has none. `#[serde(flatten)]` would read the common
//! part through a buffer.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builder::Body;
use super::{
    ConversationInfo, GateRecord, Lease, LedgerEntry, Memory, Message, ResponseRef, Retrievable,
    Retrieved, StandingInstruction, Thought, ToolCall, TurnRecord,
};
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::media::Media;

/// Makes [`Record`], [`RecordKind`] and the implementations of [`RecordType`] from one list: of each kind, its type and its name.
macro_rules! records {
    ($($(#[$doc:meta])+ $kind:ident($record:ident) = $name:literal,)+) => {
        /// A record of any kind.
        ///
        /// Records have two forms as JSON. `serde::Serialize` gives the public form, for user interfaces: without ids of the spool, digests,
        /// the state of the provider and what only the framework needs. The book describes it. [`Record::to_value`] gives the form for
        /// stores.
        ///
        /// ```
        /// use serde_json::json;
        /// use turnwright_core::record::{Memory, Message, Record};
        ///
        /// let records = [Record::from(Message::user("Hello!").build()?), Memory::new("Likes tea.").build()?.into()];
        /// for record in &records {
        ///     match record {
        ///         Record::Message(message) => println!("{}", message.text()),
        ///         other => println!("{} {}", other.kind(), other.id()),
        ///     }
        /// }
        /// let shown = serde_json::to_value(&records[0])?;
        /// assert_eq!((&shown["kind"], &shown["author"], &shown["text"]), (&json!("message"), &json!("user"), &json!("Hello!")));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone)]
        #[non_exhaustive]
        pub enum Record {
            $($(#[$doc])+ $kind(Arc<$record>),)+
        }

        /// The kind of a record.
        ///
        /// ```
        /// use turnwright_core::record::RecordKind;
        /// use turnwright_core::store::Query;
        ///
        /// let query = Query::all().kind(RecordKind::Message).kind(RecordKind::ToolCall).newest(20);
        /// assert_eq!(RecordKind::from_name("tool_call"), Some(RecordKind::ToolCall));
        /// ```
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[non_exhaustive]
        pub enum RecordKind {
            $($(#[$doc])+ #[serde(rename = $name)] $kind,)+
        }

        names!(RecordKind { $($kind = $name,)+ });

        $(impl RecordType for $record {
            const KIND: RecordKind = RecordKind::$kind;

            fn of(record: &Record) -> Option<&Arc<Self>> {
                match record {
                    Record::$kind(record) => Some(record),
                    _ => None,
                }
            }

            fn into_record(self: Arc<Self>) -> Record {
                Record::$kind(self)
            }
        }

        impl From<Arc<$record>> for Record {
            fn from(record: Arc<$record>) -> Self {
                Record::$kind(record)
            }
        })+
    };
}

records! {
    /// A standing instruction.
    Instruction(StandingInstruction) = "instruction",
    /// A memory.
    Memory(Memory) = "memory",
    /// A retrievable.
    Retrievable(Retrievable) = "retrievable",
    /// A message.
    Message(Message) = "message",
    /// A thought of the model.
    Thought(Thought) = "thought",
    /// A tool call.
    ToolCall(ToolCall) = "tool_call",
    /// The ledger entry of a call that may write.
    Ledger(LedgerEntry) = "ledger",
    /// A turn and its state.
    Turn(TurnRecord) = "turn",
    /// A gate and its answer.
    Gate(GateRecord) = "gate",
    /// The lease of the conversation.
    Lease(Lease) = "lease",
    /// Metadata of the conversation.
    ConversationInfo(ConversationInfo) = "conversation_info",
}

impl RecordKind {
    /// Returns the kind of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        RecordKind::ALL
            .iter()
            .copied()
            .find(|kind| kind.as_str() == name)
    }
}

/// Evaluates an expression for the record of a type, whatever the type is.
macro_rules! each {
    ($any:expr, $record:ident => $do:expr) => {
        match $any {
            Record::Instruction($record) => $do,
            Record::Memory($record) => $do,
            Record::Retrievable($record) => $do,
            Record::Message($record) => $do,
            Record::Thought($record) => $do,
            Record::ToolCall($record) => $do,
            Record::Ledger($record) => $do,
            Record::Turn($record) => $do,
            Record::Gate($record) => $do,
            Record::Lease($record) => $do,
            Record::ConversationInfo($record) => $do,
        }
    };
}

pub(super) use each;

impl Record {
    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> RecordKind {
        fn kind_of<R: RecordType>(_: &Arc<R>) -> RecordKind {
            R::KIND
        }
        each!(self, record => kind_of(record))
    }

    /// Returns the model response that it belongs to, if known.
    #[must_use]
    pub fn response(&self) -> Option<&ResponseRef> {
        match self {
            Record::Message(message) => message.response(),
            Record::Thought(thought) => thought.response(),
            Record::ToolCall(call) => call.response(),
            _ => None,
        }
    }

    /// Returns the id, which is unique among the records of its kind.
    #[must_use]
    pub fn id(&self) -> &str {
        each!(self, record => record.id())
    }

    /// Returns the record as its own type, if it is of that type.
    ///
    /// ```
    /// use turnwright_core::record::{Memory, Message, Record};
    ///
    /// let record = Record::from(Message::user("Hello!").build()?);
    /// assert!(record.clone().downcast::<Memory>().is_none());
    /// assert_eq!(record.downcast::<Message>().map(|message| message.text().to_owned()), Some("Hello!".to_owned()));
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    #[must_use]
    pub fn downcast<T: RecordType>(self) -> Option<Arc<T>> {
        T::of(&self).cloned()
    }

    /// Returns whether two records share one allocation. Equal records need not.
    pub(crate) fn is_same(&self, other: &Record) -> bool {
        let address = |record: &Record| each!(record, record => Arc::as_ptr(record).addr());
        address(self) == address(other)
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, record => record.fmt(f))
    }
}

/// A type of record, one for each [`RecordKind`]. Implemented by the record types of this crate only.
///
/// ```
/// use turnwright_core::record::{Message, Record, RecordType};
///
/// let record = Record::from(Message::user("Hello!").build()?);
/// assert_eq!(Message::of(&record).map(|message| message.text()), Some("Hello!"));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
pub trait RecordType: Body + 'static {
    /// The kind of its records.
    const KIND: RecordKind;

    /// Returns the record, if it is of this type.
    fn of(record: &Record) -> Option<&Arc<Self>>;

    /// Returns this as a record of any kind.
    fn into_record(self: Arc<Self>) -> Record;
}

/// A type of record that a turn has on its timeline, and that a prompt can show: everything but the
/// [bookkeeping](RecordKind::is_bookkeeping). The operations of [`TurnRecords`](crate::tool::context::TurnRecords) take these types.
///
/// The bookkeeping is not there:
///
/// ```compile_fail,E0277
/// use turnwright_core::DispatchContext;
/// use turnwright_core::record::LedgerEntry;
///
/// DispatchContext::standalone().records().all::<LedgerEntry>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record of a turn's timeline",
    label = "the timeline holds no records of this type",
    note = "these types are on the timeline: `Message`, `ToolCall`, `Memory`, `Thought`, `Retrievable`, `StandingInstruction`"
)]
pub trait TimelineRecord: RecordType {}

impl TimelineRecord for StandingInstruction {}
impl TimelineRecord for Memory {}
impl TimelineRecord for Retrievable {}
impl TimelineRecord for Message {}
impl TimelineRecord for Thought {}
impl TimelineRecord for ToolCall {}

impl RecordKind {
    /// Returns whether records of this kind always apply, instead of describing what happened.
    pub(crate) const fn is_standing(self) -> bool {
        matches!(self, RecordKind::Instruction | RecordKind::Memory)
    }

    /// Returns whether records of this kind are bookkeeping of turns, calls and the conversation itself, which no prompt shows.
    ///
    /// ```
    /// use turnwright_core::record::RecordKind;
    ///
    /// assert!(RecordKind::Ledger.is_bookkeeping());
    /// assert!(RecordKind::ConversationInfo.is_bookkeeping());
    /// assert!(!RecordKind::Message.is_bookkeeping());
    /// ```
    #[must_use]
    pub const fn is_bookkeeping(self) -> bool {
        use RecordKind::{ConversationInfo, Gate, Lease, Ledger, Turn};
        matches!(self, Ledger | Turn | Gate | Lease | ConversationInfo)
    }
}

impl Record {
    /// Returns the ids of the spool entries of its artifacts and media. Entries that no record refers to can be removed.
    pub fn spool_ids(&self) -> impl Iterator<Item = &str> {
        let artifacts = self
            .artifacts()
            .iter()
            .filter_map(SpooledArtifact::spool_id);
        artifacts.chain(self.media().iter().filter_map(Media::spool_id))
    }

    /// Returns its media.
    #[must_use]
    pub fn media(&self) -> &[Media] {
        match self {
            Record::Message(message) => message.media(),
            Record::ToolCall(call) => call.media(),
            Record::Retrievable(found) => match found.content() {
                Retrieved::Media(media) => std::slice::from_ref(media),
                Retrieved::Text(_) | Retrieved::Artifact(_) => &[],
            },
            _ => &[],
        }
    }

    /// Returns the record with its media replaced by as many others.
    pub(crate) fn with_media(mut self, media: Vec<Media>) -> Self {
        each!(&mut self, record => {
            let all = Arc::make_mut(record).media_mut().iter_mut();
            all.zip(media).for_each(|(old, new)| *old = new);
        });
        self
    }

    /// Returns the record with kinds for artifacts of unknown kinds: those that `find` returns for their names.
    pub(crate) fn with_kinds(mut self, find: impl Fn(&str) -> Option<ArtifactKind>) -> Self {
        let kind_of = |artifact: &SpooledArtifact| artifact.unknown_kind().and_then(&find);
        if self.artifacts().iter().all(|one| kind_of(one).is_none()) {
            return self;
        }
        each!(&mut self, record => {
            for artifact in Arc::make_mut(record).artifacts_mut() {
                if let Some(kind) = kind_of(artifact) {
                    *artifact = artifact.of_kind(kind);
                }
            }
        });
        self
    }

    /// Returns its artifacts.
    #[must_use]
    pub fn artifacts(&self) -> &[SpooledArtifact] {
        match self {
            Record::ToolCall(call) => call.artifacts(),
            Record::Retrievable(found) => match found.content() {
                Retrieved::Artifact(artifact) => std::slice::from_ref(artifact),
                Retrieved::Text(_) | Retrieved::Media(_) => &[],
            },
            _ => &[],
        }
    }
}
