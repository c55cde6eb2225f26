//! Bytes, stored as text if they are UTF-8, so that they are readable in the database.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Invalid;
use super::field::{Base64, Encoded, Text};
use crate::record::ProviderState;

/// Returns the fields `text` and `base64`, one of which is set.
pub(super) fn write(bytes: &[u8]) -> (Option<Text<'_>>, Option<Base64>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.into()), None),
        Err(_) => (None, Some(Encoded(bytes.to_owned()))),
    }
}

/// Returns the bytes of these fields.
pub(super) fn read(text: Option<Text<'_>>, base64: Option<Base64>) -> Result<Bytes, Invalid> {
    match (base64, text) {
        (Some(Encoded(bytes)), _) => Ok(bytes.into()),
        (None, Some(text)) => Ok(text.into_owned().into()),
        (None, None) => Err(Invalid::missing("text")),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct StoredState<'a> {
    protocol: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<Base64>,
}

impl<'a> From<&'a ProviderState> for StoredState<'a> {
    fn from(state: &'a ProviderState) -> Self {
        let (text, base64) = write(state.bytes());
        let address = state.address();
        StoredState {
            protocol: state.protocol().into(),
            address: (!address.is_empty()).then(|| address.into()),
            text,
            base64,
        }
    }
}

impl TryFrom<StoredState<'_>> for ProviderState {
    type Error = Invalid;

    fn try_from(stored: StoredState<'_>) -> Result<Self, Invalid> {
        let bytes = read(stored.text, stored.base64).map_err(|error| error.inside("providerState"));
        let address = stored.address.as_deref().unwrap_or_default();
        Ok(ProviderState::new(&*stored.protocol, address, bytes?))
    }
}
