//! A proposed call.

use std::sync::Arc;

use tokio::time::Instant;

use super::{ProviderState, ResponseRef};
use crate::checksum::{self, Hex};
use crate::ids::Id;
use crate::schema::{Limits, RawArgs};

/// A proposed call. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct CallRequest {
    pub(crate) id: Id,
    /// The ordinal of the call in its turn.
    pub(crate) ordinal: u64,
    pub(crate) provider_id: Option<Arc<str>>,
    /// The model response that proposed it.
    pub(crate) response: Option<ResponseRef>,
    pub(crate) provider_state: Option<ProviderState>,
    pub(crate) name: Arc<str>,
    pub(crate) raw: RawArgs,
    /// When it was proposed.
    pub(crate) created: Instant,
    /// Whether empty arguments count as an empty object.
    pub(crate) empty_args_as_object: bool,
}

impl CallRequest {
    /// Returns the checksum of a call whose tool is unknown, with the default limits.
    pub(crate) fn checksum(&self) -> Hex {
        let much = Limits::default().bytes();
        match self.raw.text() {
            Some(text) if text.len() > much => checksum::of_unread(&self.name, &self.raw),
            _ => checksum::of_raw(&self.name, &self.raw),
        }
    }
}
