//! A sign of life while there is nothing to write.

use std::io::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::style::{self, paint};
use super::{columns_of, fit};

/// What moves.
const SIGNS: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// How often it moves. What takes no longer is not shown.
const TICK: Duration = Duration::from_millis(150);
/// What stands beside the words, and a little more: the line is never full. What a terminal echoes of Ctrl-C must not begin
/// another line, which nobody would clear.
const BESIDE: usize = 12;
/// The columns of a terminal that does not say how many it has.
const NARROW: usize = 40;

/// A line on standard error that moves, until this is dropped. Then nothing is left of it.
pub(super) struct Busy {
    /// None once it is to end.
    doing: Option<mpsc::Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Busy {
    pub(super) fn new(doing: String) -> Self {
        let (send, updates) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("busy".into())
            .spawn(move || run(doing, &updates));
        Busy {
            doing: Some(send),
            thread: thread.ok(),
        }
    }

    /// Something else is being done.
    pub(super) fn says(&self, doing: String) {
        if let Some(send) = &self.doing {
            // A line that could not be begun need not be told.
            let _ = send.send(doing);
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.doing = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic, and its end is all that matters: nothing is written after it.
            let _ = thread.join();
        }
    }
}

fn run(mut doing: String, updates: &mpsc::Receiver<String>) {
    let begun = Instant::now();
    let mut chars = SIGNS.iter().cycle();
    let (mut next, mut drawn) = (begun + TICK, false);
    loop {
        // However often something else is said, it moves at its own pace.
        match updates.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(other) => doing = other,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let ch = chars.next().unwrap_or(&' ');
                let columns = columns_of(&std::io::stderr()).unwrap_or(NARROW);
                let words = fit(&doing, columns.saturating_sub(BESIDE));
                let words = format!("{ch} {}s {words}", begun.elapsed().as_secs());
                write(&format!("\r\x1b[2K{}", paint(style::DIM, words)));
                (next, drawn) = (Instant::now() + TICK, true);
            }
        }
    }
    if drawn {
        write("\r\x1b[2K");
    }
}

/// Whether anybody sees it is not for a sign of life to mend.
fn write(text: &str) {
    let mut err = anstream::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}
