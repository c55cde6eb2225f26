//! Lines as they come, without editing: from a pipe, or from a terminal that can do no more.

use std::io::{self, Read as _};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinHandle;

use super::mode::Mode;

/// The lines of standard input, read in threads of their own: waiting for one can be given up, and the line is not lost. It
/// reads only when it is asked: a pipe may hold more than memory does, and what is typed ahead may have to be forgotten.
pub(crate) struct Lines {
    reader: Arc<Mutex<Reader>>,
    /// The line that was asked for and has not come yet.
    pending: Option<JoinHandle<io::Result<Option<String>>>>,
}

impl Lines {
    pub(crate) fn open() -> Self {
        Lines {
            reader: Arc::default(),
            pending: None,
        }
    }

    /// The next line; none at the end.
    ///
    /// # Errors
    /// The line is longer than what is read.
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

    /// Forgets what was typed before now.
    pub(crate) fn forget(&mut self) {
        self.pending.take_if(|line| line.is_finished());
        Mode::forget_typed();
        // If a line is being read, nothing of it was typed yet.
        if let Ok(mut reader) = self.reader.try_lock() {
            reader.read.clear();
        }
    }
}

/// How much is read at once: more than the standard library keeps for itself, so that it keeps nothing.
const PIECE: usize = 64 << 10;

/// The longest line that is read.
const LONGEST: usize = 16 << 20;

struct Reader {
    /// What was read and not given yet.
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
            if looked_at > LONGEST {
                self.read = Vec::new();
                let most = LONGEST >> 20;
                let message = format!(
                    "a line of standard input is too long: at most {most} MiB are read. Each line is a turn"
                );
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
            }
            match io::stdin().lock().read(&mut self.piece) {
                Ok(length @ 1..) => self.read.extend(self.piece.iter().take(length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The end. A last line need not be ended.
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
