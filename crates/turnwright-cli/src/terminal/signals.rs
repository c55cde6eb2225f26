//! Signals: Ctrl-C and requests to terminate.

use std::io;

use crate::exit::Exit;

/// Listens for Ctrl-C (while no line is being edited) and for requests to terminate. No signal is missed while it exists.
pub(crate) struct Signals {
    interrupt: platform::Interrupt,
    terminate: platform::Terminate,
}

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// A request to terminate.
    Terminate,
}

impl Signal {
    /// The exit code of a command that was stopped before it did anything.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Signal::Interrupt => Exit::Interrupted,
            Signal::Terminate => Exit::Done,
        }
    }
}

impl Signals {
    /// Starts to listen. After the first call, Ctrl-C no longer ends the program by itself.
    pub(crate) fn listen() -> io::Result<Self> {
        let (interrupt, terminate) = platform::listen()?;
        Ok(Signals {
            interrupt,
            terminate,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }

    /// Waits for a request to terminate.
    pub(crate) async fn terminated(&mut self) {
        self.terminate.recv().await;
    }
}

#[cfg(unix)]
mod platform {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) type Interrupt = Signal;

    /// SIGTERM, SIGHUP (the window was closed) and SIGQUIT (Ctrl-\).
    pub(super) struct Terminate([Signal; 3]);

    impl Terminate {
        pub(super) async fn recv(&mut self) -> Option<()> {
            let [term, hang_up, quit] = &mut self.0;
            tokio::select! {
                signal = term.recv() => signal,
                signal = hang_up.recv() => signal,
                signal = quit.recv() => signal,
            }
        }
    }

    pub(super) fn listen() -> std::io::Result<(Interrupt, Terminate)> {
        let ends = Terminate([
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::quit())?,
        ]);
        Ok((signal(SignalKind::interrupt())?, ends))
    }
}

#[cfg(windows)]
mod platform {
    use tokio::signal::windows::{CtrlBreak, CtrlC, ctrl_break, ctrl_c};

    pub(super) type Interrupt = CtrlC;
    pub(super) type Terminate = CtrlBreak;

    pub(super) fn listen() -> std::io::Result<(Interrupt, Terminate)> {
        Ok((ctrl_c()?, ctrl_break()?))
    }
}
