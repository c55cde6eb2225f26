//! The response that a record belongs to, and the state that its provider expects back.

use super::Invalid;
use super::bytes::StoredState;
use super::field::Text;
use crate::record::{ProviderState, ResponseRef};

/// The stored fields of a record of a model response.
pub(super) struct StoredResponse<'a> {
    pub(super) id: Option<Text<'a>>,
    pub(super) cut: Option<Text<'a>>,
    pub(super) state: Option<StoredState<'a>>,
}

impl<'a> StoredResponse<'a> {
    pub(super) fn new(response: Option<&'a ResponseRef>, state: Option<&'a ProviderState>) -> Self {
        StoredResponse {
            id: response.map(|response| response.id().into()),
            cut: response.and_then(ResponseRef::why_cut).map(Text::from),
            state: state.map(StoredState::from),
        }
    }

    pub(super) fn read(self) -> Result<(Option<ResponseRef>, Option<ProviderState>), Invalid> {
        let state = self.state.map(ProviderState::try_from).transpose()?;
        let response = match (self.id, self.cut) {
            (Some(id), None) => Some(ResponseRef::with_id(&*id)),
            (Some(id), Some(why)) => Some(ResponseRef::with_id(&*id).cut(&*why)),
            (None, Some(_)) => return Err(Invalid::missing("responseId")),
            (None, None) => None,
        };
        Ok((response, state))
    }
}
