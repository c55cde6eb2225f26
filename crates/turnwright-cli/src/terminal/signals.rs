//! What the system tells the program.

use std::io;

use crate::exit::Exit;

/// Listens for what ends things: Ctrl-C where no line is typed, and the wish that the program end. While one of these lives
/// nothing that was told is missed.
pub(crate) struct Signals {
    interrupt: platform::Interrupt,
    terminate: platform::Terminate,
}

/// What was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// The program is to end.
    Terminate,
}

impl Signal {
    /// How a command ends that was told so before it had done anything.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Signal::Interrupt => Exit::Interrupted,
            Signal::Terminate => Exit::Done,
        }
    }
}

impl Signals {
    /// Listens from now on. From the first time on, Ctrl-C no longer ends the program by itself.
    pub(crate) fn listen() -> io::Result<Self> {
        let (interrupt, terminate) = platform::listen()?;
        Ok(Signals {
            interrupt,
            terminate,
        })
    }

    /// Waits for what is told next.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }

    /// Waits for the wish that the program end.
    pub(crate) async fn terminated(&mut self) {
        self.terminate.recv().await;
    }
}

#[cfg(unix)]
mod platform {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) type Interrupt = Signal;

    /// Asked to end, the window closed, or Ctrl-\: what was started is to end too.
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
