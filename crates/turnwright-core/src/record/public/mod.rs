//! The public form of records as JSON: what a user interface shows, without ids of the spool, digests and the state of the provider.
//!
//! `serde::Serialize` gives this form. Stores use another one, that of [`Record::to_value`].

mod bookkeeping;
mod content;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use self::bookkeeping::{PublicGate, PublicInfo, PublicLease, PublicLedgerEntry, PublicTurn};
use self::content::{PublicMedia, PublicRetrievable, PublicToolCall};
use super::{
    Author, ConversationInfo, GateRecord, Lease, LedgerEntry, Memory, Message, Record, Retrievable,
    StandingInstruction, Thought, ToolCall, TurnRecord, time_text,
};

/// Serialises types in their public form.
macro_rules! public {
    ($($record:ident => $form:ident,)+) => {$(
        impl Serialize for $record {
            /// Serialises the public form, for user interfaces. [`Record::to_value`] is the stored form.
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                $form::from(self).serialize(to)
            }
        }

        impl JsonSchema for $record {
            fn schema_name() -> Cow<'static, str> {
                $form::schema_name()
            }

            fn schema_id() -> Cow<'static, str> {
                $form::schema_id()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                $form::json_schema(generator)
            }
        }
    )+};
}

public! {
    StandingInstruction => PublicText,
    Memory => PublicText,
    Thought => PublicText,
    Message => PublicMessage,
    Retrievable => PublicRetrievable,
    ToolCall => PublicToolCall,
    TurnRecord => PublicTurn,
    GateRecord => PublicGate,
    LedgerEntry => PublicLedgerEntry,
    Lease => PublicLease,
    ConversationInfo => PublicInfo,
    Record => PublicRecord,
}

/// A record of any kind. `kind` tells which.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "AnyRecord")]
enum PublicRecord<'a> {
    Text(PublicText<'a>),
    Message(PublicMessage<'a>),
    Retrievable(PublicRetrievable<'a>),
    ToolCall(PublicToolCall<'a>),
    Turn(PublicTurn<'a>),
    Gate(PublicGate<'a>),
    Ledger(PublicLedgerEntry<'a>),
    Lease(PublicLease<'a>),
    ConversationInfo(PublicInfo<'a>),
}

impl<'a> From<&'a Record> for PublicRecord<'a> {
    fn from(record: &'a Record) -> Self {
        match record {
            Record::Instruction(record) => PublicRecord::Text((&**record).into()),
            Record::Memory(record) => PublicRecord::Text((&**record).into()),
            Record::Thought(record) => PublicRecord::Text((&**record).into()),
            Record::Message(record) => PublicRecord::Message((&**record).into()),
            Record::Retrievable(record) => PublicRecord::Retrievable((&**record).into()),
            Record::ToolCall(record) => PublicRecord::ToolCall((&**record).into()),
            Record::Turn(record) => PublicRecord::Turn((&**record).into()),
            Record::Gate(record) => PublicRecord::Gate((&**record).into()),
            Record::Ledger(record) => PublicRecord::Ledger((&**record).into()),
            Record::Lease(record) => PublicRecord::Lease((&**record).into()),
            Record::ConversationInfo(record) => PublicRecord::ConversationInfo((&**record).into()),
        }
    }
}

/// A thought of the model, a memory or a standing instruction.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TextRecord")]
struct PublicText<'a> {
    #[schemars(extend("enum" = ["thought", "memory", "instruction"]))]
    kind: &'static str,
    id: &'a str,
    created_at: String,
    updated_at: String,
    text: &'a str,
}

macro_rules! texts {
    ($($record:ident = $kind:literal,)+) => {$(
        impl<'a> From<&'a $record> for PublicText<'a> {
            fn from(record: &'a $record) -> Self {
                PublicText {
                    kind: $kind,
                    id: record.id(),
                    created_at: time_text(record.created_at()),
                    updated_at: time_text(record.updated_at()),
                    text: record.text(),
                }
            }
        }
    )+};
}

texts! {
    StandingInstruction = "instruction",
    Memory = "memory",
    Thought = "thought",
}

/// A message.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MessageRecord")]
struct PublicMessage<'a> {
    #[schemars(extend("const" = "message"))]
    kind: &'static str,
    id: &'a str,
    created_at: String,
    updated_at: String,
    #[schemars(extend("enum" = ["user", "assistant", "framework", "agent"]))]
    author: &'static str,
    /// The name of the user, if it was set, or of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    text: &'a str,
    media: Vec<PublicMedia<'a>>,
}

impl<'a> From<&'a Message> for PublicMessage<'a> {
    fn from(message: &'a Message) -> Self {
        let (author, name) = match message.author() {
            Author::User => ("user", message.name()),
            Author::Assistant => ("assistant", None),
            Author::Framework => ("framework", None),
            Author::Agent { name, .. } => ("agent", Some(name.as_str())),
        };
        PublicMessage {
            kind: "message",
            id: message.id(),
            created_at: time_text(message.created_at()),
            updated_at: time_text(message.updated_at()),
            author,
            name,
            text: message.text(),
            media: message.media().iter().map(PublicMedia::from).collect(),
        }
    }
}
