//! The mode of the input terminal, so that it can be restored.

#[cfg(unix)]
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};

/// The mode of the input terminal; `None` if there is no terminal. On Windows the editor restores the console itself.
pub(crate) struct Mode(#[cfg(unix)] Option<Termios>);

impl Mode {
    /// The current mode.
    pub(crate) fn now() -> Self {
        Mode(
            #[cfg(unix)]
            tcgetattr(std::io::stdin()).ok(),
        )
    }

    /// Restores it. Fails only if the terminal is gone.
    pub(crate) fn restore(&self) {
        #[cfg(unix)]
        if let Some(mode) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, mode);
        }
    }

    /// Discards input that was typed and not read yet.
    pub(crate) fn discard_typed() {
        #[cfg(unix)]
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    }
}
