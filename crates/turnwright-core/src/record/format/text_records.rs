//! Standing instructions, memories and thoughts.

use serde::{Deserialize, Serialize};

use super::bytes::StoredState;
use super::field::{Encoded, Text, Time, VERSION};
use super::flow::StoredExposure;
use super::response::StoredResponse;
use super::{Invalid, Stored, stamp};
use crate::record::stamp::Stamp;
use crate::record::{
    ByteResolver, Exposure, Memory, Record, RecordKind, StandingInstruction, Thought,
};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredText<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    created_at: Time,
    updated_at: Time,
    text: Text<'a>,
    // Only for thoughts.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_cut: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_state: Option<StoredState<'a>>,
    // Only for memories and thoughts.
    #[serde(skip_serializing_if = "Option::is_none")]
    exposure: Option<StoredExposure>,
}

impl<'a> StoredText<'a> {
    pub(super) fn new(
        kind: RecordKind,
        stamp: &'a Stamp,
        text: &'a str,
        of: StoredResponse<'a>,
        exposure: Exposure,
    ) -> Self {
        StoredText {
            v: VERSION,
            kind,
            id: stamp.id.as_str().into(),
            created_at: Encoded(stamp.created_at),
            updated_at: Encoded(stamp.updated_at),
            text: text.into(),
            response_id: of.id,
            response_cut: of.cut,
            provider_state: of.state,
            exposure: StoredExposure::new(exposure),
        }
    }
}

impl Stored for StoredText<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, _: &ByteResolver) -> Result<Record, Invalid> {
        let text = self.text.into_owned();
        let exposure = StoredExposure::read(self.exposure);
        let stamp = stamp(self.id, self.created_at, self.updated_at);
        match self.kind {
            RecordKind::Instruction => {
                Ok(StandingInstruction::stamped(text, stamp).build()?.into())
            }
            RecordKind::Memory => {
                let mut memory = Memory::stamped(text, stamp);
                memory.0.exposure = exposure;
                Ok(memory.build()?.into())
            }
            _ => {
                let stored = StoredResponse {
                    id: self.response_id,
                    cut: self.response_cut,
                    state: self.provider_state,
                };
                let (response, state) = stored.read()?;
                let mut thought = Thought::stamped(text, stamp).of_response(response, state);
                thought.0.exposure = exposure;
                Ok(thought.build()?.into())
            }
        }
    }
}
