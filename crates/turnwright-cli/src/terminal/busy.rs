//! A sign of life while there is nothing to write.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::screen::with_colour;
use super::style::{self, paint};
use super::{columns_of, fit};

/// How often it moves.
const TICK: Duration = Duration::from_millis(150);

/// What stands beside the words, and a little more: the line is never full. What a terminal echoes of Ctrl-C must not begin
/// another line, which nobody would clear.
const BESIDE: usize = 12;

/// The columns of a terminal that does not say how many it has.
const NARROW: usize = 40;

/// A line on standard error that moves, until this is dropped. Then nothing is left of it.
pub(super) struct Busy(ProgressBar);

impl Busy {
    pub(super) fn new(doing: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        // Not padded to the last column, and in no colour of its own.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        let busy = Busy(bar);
        busy.says(doing);
        busy.0.enable_steady_tick(TICK);
        busy
    }

    /// Something else is being done.
    pub(super) fn says(&self, doing: &str) {
        let columns = columns_of(&std::io::stderr()).unwrap_or(NARROW);
        let words = fit(doing, columns.saturating_sub(BESIDE));
        self.0.set_message(match with_colour(&std::io::stderr()) {
            true => paint(style::DIM, words),
            false => words,
        });
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
