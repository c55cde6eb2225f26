//! A spinner while the program works.

use std::io::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::screen::with_colour;
use super::style::{self, paint};
use super::{columns_of, fit};

/// The frames.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// The time between two frames. Work that takes less shows no spinner.
const TICK: Duration = Duration::from_millis(150);
/// The columns for the frame and the seconds, and some that stay free: an echoed `^C` must not start another line, which would
/// not be cleared.
const RESERVED: usize = 12;
/// The columns of a terminal that does not report its size.
const NARROW: usize = 40;

/// An animated line on standard error. Dropping it clears the line.
pub(super) struct Spinner {
    /// `None` once it has to end.
    doing: Option<mpsc::Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    pub(super) fn new(doing: String) -> Self {
        let (send, updates) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("busy".into())
            .spawn(move || run(doing, &updates));
        Spinner {
            doing: Some(send),
            thread: thread.ok(),
        }
    }

    /// Changes the text.
    pub(super) fn update(&self, doing: String) {
        if let Some(send) = &self.doing {
            // Fails if the thread could not be started.
            let _ = send.send(doing);
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.doing = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic. After it has ended nothing more is written.
            let _ = thread.join();
        }
    }
}

fn run(mut doing: String, updates: &mpsc::Receiver<String>) {
    let started = Instant::now();
    let mut chars = FRAMES.iter().cycle();
    let (mut next, mut drawn) = (started + TICK, false);
    loop {
        // The frames keep their pace however often the text changes.
        match updates.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(other) => doing = other,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let ch = chars.next().unwrap_or(&' ');
                let columns = columns_of(&std::io::stderr()).unwrap_or(NARROW);
                let words = fit(&doing, columns.saturating_sub(RESERVED));
                let words = format!("{ch} {}s {words}", started.elapsed().as_secs());
                let words = if with_colour(&std::io::stderr()) {
                    paint(style::DIM, words)
                } else {
                    words
                };
                write(&format!("\r\x1b[2K{words}"));
                (next, drawn) = (Instant::now() + TICK, true);
            }
        }
    }
    if drawn {
        write("\r\x1b[2K");
    }
}

/// Not through anstream: without colour it would strip the sequence that clears the line. Errors are ignored.
fn write(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}
