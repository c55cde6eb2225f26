//! Calling things off.

use tokio_util::sync::CancellationToken;

/// A signal that calls something off, and everything that depends on it. Clones share it.
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
    /// A new signal, not given.
    #[must_use]
    pub fn new() -> Self {
        Cancellation::default()
    }

    /// A signal that is given with this one, or by itself.
    #[must_use]
    pub fn child(&self) -> Self {
        Cancellation(self.0.child_token())
    }

    /// Gives the signal.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether it was given.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it is given.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.clone().cancelled_owned()
    }
}
