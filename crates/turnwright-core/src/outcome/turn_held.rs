//! The error source for a conversation in which another turn is running.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorCode};
use crate::schema::escape;

/// A turn that holds the lease of its conversation, so that another one could not start. The source of `E_TURN_HELD`.
///
/// ```
/// use turnwright_core::Error;
/// use turnwright_core::runner::TurnHeld;
///
/// fn show(error: &Error) {
///     if let Some(held) = error.find_cause::<TurnHeld>() {
///         println!("busy: try again in {} s", held.expires_in.as_secs() + 1);
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnHeld {
    /// The conversation id.
    pub conversation: Arc<str>,
    /// The id of the turn that holds the lease. `None` if the lease is damaged.
    pub turn_id: Option<Arc<str>>,
    /// The longest time until the lease expires, if its process is gone.
    pub expires_in: Duration,
}

impl TurnHeld {
    pub(crate) fn into_error(self) -> Error {
        let seconds = self.expires_in.as_secs().saturating_add(1);
        let message = format!(
            "{self}: wait for its end, or, if its process is gone, for {seconds} s until its lease has expired"
        );
        Error::new(ErrorCode::TURN_HELD, message).with_source(self)
    }

    /// Names the turn in a message.
    pub(crate) fn turn(&self) -> String {
        let named = |id: &Arc<str>| format!("the turn `{}`", escape(id, 80));
        self.turn_id.as_ref().map_or("a turn".to_owned(), named)
    }
}

impl fmt::Display for TurnHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of this conversation is running", self.turn())
    }
}

impl std::error::Error for TurnHeld {}
