//! Records that are words and nothing else.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::bytes;
use super::fields::{Fields, put};
use crate::error::Error;
use crate::record::{Memory, StandingInstruction, Thought};

/// What every record with a stamp has.
macro_rules! write_stamp {
    ($record:expr, $map:expr) => {
        $crate::record::codec::fields::put(
            $map,
            "createdAt",
            $crate::record::codec::time::format($record.created_at()),
        );
        $crate::record::codec::fields::put(
            $map,
            "updatedAt",
            $crate::record::codec::time::format($record.updated_at()),
        );
    };
}

pub(super) use write_stamp;

macro_rules! words {
    ($($record:ident, $write:ident, $read:ident;)+) => {$(
        pub(super) fn $write(record: &$record, map: &mut Map<String, Value>) {
            write_stamp!(record, map);
            put(map, "text", record.text());
        }

        pub(super) fn $read(fields: &Fields<'_>) -> Result<Arc<$record>, Error> {
            let text = fields.text("text")?.to_owned();
            $record::stamped(text, fields.stamp()?).build().map_err(|error| fields.refused(error))
        }
    )+};
}

words! {
    StandingInstruction, write_instruction, read_instruction;
    Memory, write_memory, read_memory;
}

pub(super) fn write_thought(thought: &Thought, map: &mut Map<String, Value>) {
    write_stamp!(thought, map);
    put(map, "text", thought.text());
    bytes::write_state(thought.provider_state(), map);
}

pub(super) fn read_thought(fields: &Fields<'_>) -> Result<Arc<Thought>, Error> {
    let text = fields.text("text")?.to_owned();
    let mut builder = Thought::stamped(text, fields.stamp()?);
    if let Some(state) = bytes::read_state(fields)? {
        builder = builder.provider_state(state);
    }
    builder.build().map_err(|error| fields.refused(error))
}
