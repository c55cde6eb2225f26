//! The response that a record belongs to, and the state that its provider expects back.

use serde::Deserialize;
use serde_json::{Map, Value};

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
            (Some(id), cut) => {
                let response = ResponseRef::with_id(&*id);
                match cut {
                    Some(why) => response.cut(&*why),
                    None => response,
                }
            }
            (None, Some(_)) => return Err(Invalid::missing("responseId")),
            (None, None) => return Ok(lift(state)),
        };
        Ok((Some(response), state))
    }
}

/// The state of Chat Completions as 0.1 wrote it: the response and the address were part of the opaque state.
#[derive(Deserialize)]
struct EarlierState {
    response: String,
    from: String,
    #[serde(default)]
    cut: Option<String>,
    #[serde(default)]
    fields: Map<String, Value>,
}

/// Reads the response and the address out of an earlier state. Any other state is returned unchanged.
fn lift(state: Option<ProviderState>) -> (Option<ResponseRef>, Option<ProviderState>) {
    let Some(state) = state else {
        return (None, None);
    };
    let is_earlier = state.protocol() == "chat_completions" && state.address().is_empty();
    let earlier = is_earlier
        .then(|| serde_json::from_slice::<EarlierState>(state.bytes()).ok())
        .flatten()
        .filter(|earlier| !earlier.response.is_empty());
    let Some(earlier) = earlier else {
        return (None, Some(state));
    };
    let response = ResponseRef::with_id(earlier.response);
    let response = match earlier.cut {
        Some(why) => response.cut(why),
        None => response,
    };
    let fields = Value::Object(earlier.fields).to_string();
    let state = ProviderState::new(state.protocol(), earlier.from, fields);
    (Some(response), Some(state))
}
