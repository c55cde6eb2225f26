//! A call that is not complete.

use serde_json::{Map, Value};
use turnwright_core::{Error, ErrorCode};

use crate::decode::Delta;

/// What has arrived of a call.
pub(super) struct OpenCall {
    slot: usize,
    has_id: bool,
    has_name: bool,
    arguments: String,
}

/// A piece of a call.
#[derive(Default)]
pub(super) struct CallPiece<'a> {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: &'a str,
    pub(super) extra: Option<Map<String, Value>>,
}

impl OpenCall {
    pub(super) fn new(slot: usize) -> Self {
        OpenCall {
            slot,
            has_id: false,
            has_name: false,
            arguments: String::new(),
        }
    }

    /// Adds a piece. The first id and the first name count.
    pub(super) fn add(&mut self, piece: CallPiece<'_>) -> Delta {
        self.arguments.push_str(piece.arguments);
        let id = piece.id.filter(|id| !self.has_id && !id.is_empty());
        let name = Some(piece.name).filter(|name| !self.has_name && !name.is_empty());
        self.has_id |= id.is_some();
        self.has_name |= name.is_some();
        Delta::Call {
            slot: self.slot,
            id,
            name,
            arguments: piece.arguments.to_owned(),
            extra: piece.extra,
        }
    }

    /// Returns what is missing of the arguments.
    ///
    /// # Errors
    /// `E_WIRE_ERROR` if other arguments have arrived.
    pub(super) fn missing<'a>(&self, arguments: &'a str) -> Result<&'a str, Error> {
        match arguments.strip_prefix(&self.arguments) {
            Some(rest) => Ok(rest),
            None if self.arguments.trim().is_empty() => Ok(arguments),
            None if is_same(&self.arguments, arguments) => Ok(""),
            None => {
                let message = "the arguments of a call differ between its deltas and its item";
                Err(Error::new(ErrorCode::WIRE_ERROR, message))
            }
        }
    }
}

/// Returns `true` if two texts are the same JSON.
fn is_same(one: &str, two: &str) -> bool {
    let parse = |text| serde_json::from_str::<Value>(text).ok();
    parse(one).is_some_and(|one| Some(one) == parse(two))
}
