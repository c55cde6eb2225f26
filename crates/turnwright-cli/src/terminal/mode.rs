//! What a terminal does with what is typed, so that it can be left as it was.

#[cfg(unix)]
pub(crate) use unix::Mode;

#[cfg(not(unix))]
pub(crate) use elsewhere::Mode;

#[cfg(unix)]
mod unix {
    use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};

    /// The mode of the terminal at which somebody types; none where there is no terminal.
    pub(crate) struct Mode(Option<Termios>);

    impl Mode {
        /// As it is now.
        pub(crate) fn now() -> Self {
            Mode(tcgetattr(std::io::stdin()).ok())
        }

        /// Makes it what it was. Whoever has no terminal any more has no need of it.
        pub(crate) fn restore(&self) {
            if let Some(mode) = &self.0 {
                let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, mode);
            }
        }

        /// Forgets what was typed and not read yet.
        pub(crate) fn forget_typed() {
            let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    /// The editor itself leaves the console as it was.
    pub(crate) struct Mode;

    impl Mode {
        pub(crate) fn now() -> Self {
            Mode
        }

        pub(crate) fn restore(&self) {}

        pub(crate) fn forget_typed() {}
    }
}
