//! A call as it was proposed.

use std::sync::Arc;

use tokio::time::Instant;

use super::ProviderState;
use crate::checksum::{self, Hex};
use crate::ids::Id;
use crate::schema::{Limits, RawArgs};

/// What was proposed. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct CallRequest {
    pub(crate) id: Id,
    /// Which of its turn's calls it is.
    pub(crate) ordinal: u64,
    pub(crate) provider_id: Option<Arc<str>>,
    pub(crate) provider_state: Option<ProviderState>,
    pub(crate) name: Arc<str>,
    pub(crate) raw: RawArgs,
    /// When it was proposed.
    pub(crate) created: Instant,
    /// Whether empty arguments count as an empty object.
    pub(crate) empty_args_as_object: bool,
}

impl CallRequest {
    /// The checksum of a call whose tool is unknown: under the default limits.
    pub(crate) fn checksum(&self) -> Hex {
        let much = Limits::default().bytes();
        match self.raw.text() {
            Some(text) if text.len() > much => checksum::of_unread(&self.name, &self.raw),
            _ => checksum::of_raw(&self.name, &self.raw),
        }
    }
}
