//! Cancellation.
//!
//! There is one way to stop. `abort`, limits, deadlines, store failures, the handle, and dropped streams with
//! `cancel_on_drop` all cancel the turn's token. The first reason is the reported one. Errors caused by the
//! cancellation are not reported as failures.

use tokio_util::sync::CancellationToken;

/// A cancellation token. Cancelling it also cancels its children. Clones share the state.
///
/// ```
/// use turnwright_core::Cancellation;
///
/// let turn = Cancellation::new();
/// let call = turn.child();
/// turn.cancel();
/// assert!(call.is_cancelled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancellation(CancellationToken);

impl Cancellation {
    /// Creates a token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Cancellation::default()
    }

    /// Creates a child. It is cancelled with this token, or by itself.
    #[must_use]
    pub fn child(&self) -> Self {
        Cancellation(self.0.child_token())
    }

    /// Cancels this token and its children.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns whether the token was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the token is cancelled.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.clone().cancelled_owned()
    }
}
