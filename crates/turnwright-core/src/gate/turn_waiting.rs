//! The error source for a turn that waits for answers.

use std::fmt;
use std::sync::Arc;

use super::OpenGate;
use crate::error::{Error, ErrorCode};
use crate::schema::escape;

/// A turn that is suspended or waits in memory, and the gates at which it waits. The source of `E_TURN_WAITING`.
///
/// ```
/// use turnwright_core::Error;
/// use turnwright_core::gate::TurnWaiting;
///
/// fn show(error: &Error) {
///     if let Some(waiting) = error.find_cause::<TurnWaiting>() {
///         println!("turn {} waits for {} answers", waiting.turn_id, waiting.gates.len());
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnWaiting {
    /// The conversation id.
    pub conversation: Arc<str>,
    /// The turn id.
    pub turn_id: Arc<str>,
    /// The open gates. Empty if every gate was answered, or if the turn was suspended between two iterations. Then it only has to
    /// be resumed.
    pub gates: Vec<OpenGate>,
}

impl TurnWaiting {
    /// Converts to an error with advice.
    pub(crate) fn into_error(self, what_to_do: &str) -> Error {
        let message = format!("{self}: {what_to_do}");
        Error::new(ErrorCode::TURN_WAITING, message).with_source(self)
    }
}

impl fmt::Display for TurnWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turn = escape(&self.turn_id, 80);
        match &*self.gates {
            [] => write!(
                f,
                "the turn `{turn}` is suspended, no gate is open, and it was not resumed"
            ),
            [only] => write!(f, "the turn `{turn}` waits at the gate `{}`", only.id),
            several => write!(f, "the turn `{turn}` waits at {} gates", several.len()),
        }
    }
}

impl std::error::Error for TurnWaiting {}
