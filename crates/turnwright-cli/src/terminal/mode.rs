//! What a terminal does with what is typed, so that it can be left as it was.

#[cfg(unix)]
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};

/// The mode of the input terminal; none if there is no terminal. On Windows the editor itself leaves
/// the console as it was.
pub(crate) struct Mode(#[cfg(unix)] Option<Termios>);

impl Mode {
    /// As it is now.
    pub(crate) fn now() -> Self {
        Mode(
            #[cfg(unix)]
            tcgetattr(std::io::stdin()).ok(),
        )
    }

    /// Makes it what it was. Fails only if there is no terminal any more.
    pub(crate) fn restore(&self) {
        #[cfg(unix)]
        if let Some(mode) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, mode);
        }
    }

    /// Forgets what was typed and not read yet.
    pub(crate) fn forget_typed() {
        #[cfg(unix)]
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    }
}
