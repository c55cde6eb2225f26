//! Reads lines without editing: from a pipe, or from a dumb terminal.

use std::io::{self, Read as _};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinHandle;

use super::mode::Mode;

/// The lines of standard input, read in separate threads. Cancelling the wait for a line does not lose the line. Reads only on
/// request: a pipe may hold more than fits into memory, and text that was typed ahead may have to be discarded.
pub(crate) struct Lines {
    reader: Arc<Mutex<Reader>>,
    /// The line that was requested and has not arrived yet.
    pending: Option<JoinHandle<io::Result<Option<String>>>>,
}

impl Lines {
    pub(crate) fn open() -> Self {
        Lines {
            reader: Arc::default(),
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
            tokio::task::spawn_blocking(move || {
                reader.lock().unwrap_or_else(PoisonError::into_inner).line()
            })
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
            reader.read.clear();
        }
    }
}

/// The size of a read: more than the buffer of the standard library, so that nothing stays in that buffer.
const PIECE: usize = 64 << 10;

/// The longest line that is read.
const MAX_LEN: usize = 16 << 20;

struct Reader {
    /// What was read and not returned yet.
    read: Vec<u8>,
    piece: Vec<u8>,
}

impl Default for Reader {
    fn default() -> Self {
        Reader {
            read: Vec::new(),
            piece: vec![0; PIECE],
        }
    }
}

impl Reader {
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut looked_at = 0;
        loop {
            let rest = self.read.get(looked_at..).unwrap_or_default();
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=looked_at + end).collect();
                return Ok(Some(text(&line)));
            }
            looked_at = self.read.len();
            if looked_at > MAX_LEN {
                self.read = Vec::new();
                let most = MAX_LEN >> 20;
                let message = format!(
                    "a line of standard input is longer than {most} MiB. Each line is one turn; split the input into lines"
                );
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
            }
            match io::stdin().lock().read(&mut self.piece) {
                Ok(length @ 1..) => self.read.extend(self.piece.iter().take(length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The end. The last line may have no line end.
                _ => {
                    let last = std::mem::take(&mut self.read);
                    return Ok((!last.is_empty()).then(|| text(&last)));
                }
            }
        }
    }
}

fn text(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    line.trim_end_matches(['\n', '\r']).to_owned()
}
