//! Lines as they come, without editing: from a pipe, or from a terminal that can do no more.

use std::io::BufRead as _;
use std::thread;

use tokio::sync::mpsc;

/// The lines of standard input, read in a thread of their own: waiting for one can be given up, and the line is not lost.
pub(crate) struct Lines(mpsc::Receiver<String>);

impl Lines {
    pub(crate) fn open() -> std::io::Result<Self> {
        // Read no faster than they are used: a pipe may hold more than memory does.
        let (lines, typed) = mpsc::channel(1);
        thread::Builder::new().name("lines".into()).spawn(move || {
            let mut input = std::io::stdin().lock();
            let mut bytes = Vec::new();
            loop {
                bytes.clear();
                match input.read_until(b'\n', &mut bytes) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                let line = String::from_utf8_lossy(&bytes);
                let line = line.trim_end_matches(['\n', '\r']).to_owned();
                if lines.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Lines(typed))
    }

    /// The next line; none at the end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.0.recv().await
    }

    /// Forgets what was typed before now.
    pub(crate) fn forget(&mut self) {
        while self.0.try_recv().is_ok() {}
    }
}
