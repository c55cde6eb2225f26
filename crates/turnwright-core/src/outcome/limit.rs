//! Limits of a turn.

use crate::error::{Error, ErrorCode};
use crate::record::Limit;

/// Why a turn stops early.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    Aborted(String),
    Limit(Limit),
    Failed(Error),
}

impl Limit {
    /// Converts to an error, for callers that expect an answer.
    pub(crate) fn to_error(&self) -> Error {
        Error::new(ErrorCode::TURN_LIMIT, format!("the turn reached {self}"))
    }
}
