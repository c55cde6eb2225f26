//! Reads lines without editing, from a pipe or from a dumb terminal, and the mode of the input terminal.

use std::io::{self, BufRead as _, BufReader, Read as _, Stdin};
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(unix)]
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use tokio::task::JoinHandle;

/// The lines of standard input, read in separate threads. Cancelling the wait for a line does not lose the line. Reads only on
/// request: a pipe may hold more than fits into memory, and text that was typed ahead may have to be discarded.
pub(crate) struct Lines {
    reader: Arc<Mutex<BufReader<Stdin>>>,
    /// The line that was requested and has not arrived yet.
    pending: Option<JoinHandle<io::Result<Option<String>>>>,
}

impl Lines {
    pub(crate) fn open() -> Self {
        Lines {
            reader: Arc::new(Mutex::new(BufReader::with_capacity(BUFFER, io::stdin()))),
            pending: None,
        }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// The line is longer than the limit.
    pub(crate) async fn next(&mut self) -> io::Result<Option<String>> {
        let pending = self.pending.get_or_insert_with(|| {
            let reader = Arc::clone(&self.reader);
            tokio::task::spawn_blocking(move || line(&reader))
        });
        let line = pending.await;
        self.pending = None;
        line.unwrap_or(Ok(None))
    }

    /// Discards text that was typed ahead.
    pub(crate) fn discard(&mut self) {
        self.pending.take_if(|line| line.is_finished());
        Mode::discard_typed();
        // If a line is being read, nothing was typed ahead.
        if let Ok(mut reader) = self.reader.try_lock() {
            let typed = reader.buffer().len();
            reader.consume(typed);
        }
    }
}

/// The size of the buffer: more than that of the standard library, so that nothing stays in that one.
const BUFFER: usize = 64 << 10;

/// The longest line that is read.
const MAX_LEN: u64 = 16 << 20;

/// The next line. What cannot be read counts as the end; the last line may have no line end.
fn line(reader: &Mutex<BufReader<Stdin>>) -> io::Result<Option<String>> {
    let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
    let mut line = Vec::new();
    let _ = reader
        .by_ref()
        .take(MAX_LEN + 1)
        .read_until(b'\n', &mut line);
    if line.len() as u64 > MAX_LEN {
        let most = MAX_LEN >> 20;
        let message = format!(
            "a line of standard input is longer than {most} MiB. Each line is one turn; split the input into lines"
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    let text = String::from_utf8_lossy(&line);
    let text = text.trim_end_matches(['\n', '\r']).to_owned();
    Ok((!line.is_empty()).then_some(text))
}

/// The mode of the input terminal; `None` if there is no terminal. On Windows the editor restores the console itself.
pub(super) struct Mode(#[cfg(unix)] Option<Termios>);

impl Mode {
    /// The current mode.
    pub(super) fn now() -> Self {
        Mode(
            #[cfg(unix)]
            tcgetattr(io::stdin()).ok(),
        )
    }

    /// Restores it. Fails only if the terminal is gone.
    pub(super) fn restore(&self) {
        #[cfg(unix)]
        if let Some(mode) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, mode);
        }
    }

    /// Discards input that was typed and not read yet.
    pub(super) fn discard_typed() {
        #[cfg(unix)]
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}
