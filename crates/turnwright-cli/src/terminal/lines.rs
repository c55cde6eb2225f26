//! Lines as they come, without editing: from a pipe, or from a terminal that can do no more.

use std::io::{self, Read as _};
use std::sync::mpsc;
use std::thread;

use tokio::sync::mpsc as answers;

use super::mode::Mode;

/// The lines of standard input, read in a thread of their own: waiting for one can be given up, and the line is not lost. It
/// reads only when it is asked: a pipe may hold more than memory does, and what is typed ahead may have to be forgotten.
pub(crate) struct Lines {
    requests: mpsc::Sender<Request>,
    lines: answers::Receiver<io::Result<Option<String>>>,
    /// Whether a line was asked for that did not come yet.
    asked: bool,
}

enum Request {
    Line,
    /// What was read and not given yet is no longer wanted.
    Forget,
}

impl Lines {
    pub(crate) fn open() -> io::Result<Self> {
        let (requests, asked) = mpsc::channel();
        let (lines, typed) = answers::channel(1);
        thread::Builder::new().name("lines".into()).spawn(move || {
            let mut reader = Reader::default();
            for request in asked {
                match request {
                    Request::Forget => reader.read.clear(),
                    Request::Line => {
                        if lines.blocking_send(reader.line()).is_err() {
                            return;
                        }
                    }
                }
            }
        })?;
        Ok(Lines {
            requests,
            lines: typed,
            asked: false,
        })
    }

    /// The next line; none at the end.
    ///
    /// # Errors
    /// The line is longer than what is read.
    pub(crate) async fn next(&mut self) -> io::Result<Option<String>> {
        if !self.asked {
            if self.requests.send(Request::Line).is_err() {
                return Ok(None);
            }
            self.asked = true;
        }
        let line = self.lines.recv().await;
        self.asked = false;
        line.unwrap_or(Ok(None))
    }

    /// Forgets what was typed before now.
    pub(crate) fn forget(&mut self) {
        if let Ok(_before) = self.lines.try_recv() {
            self.asked = false;
        }
        Mode::forget_typed();
        // It cannot be told only if it has ended.
        let _ = self.requests.send(Request::Forget);
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
