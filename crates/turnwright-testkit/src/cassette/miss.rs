//! The error for a request without a matching recording.

use std::fmt::Write as _;

use turnwright_core::{Error, ErrorCode};

use super::diff::{Difference, diff};
use super::file::Asked;
use super::replay::Recording;

/// The maximum number of listed differences.
const LISTED: usize = 20;

/// Returns the error. Its code is fatal, because a miss must not be retried.
pub(super) fn miss(name: &str, asked: &Asked, recordings: &[Recording]) -> Error {
    let mut text = format!(
        "no recording matches {} {}: {name} has {}, ",
        asked.method,
        asked.route(),
        recordings.len()
    );
    let all = recordings.iter().enumerate();
    let compared =
        all.map(|(at, recording)| (at, recording, diff(&recording.asked.body, &asked.body)));
    let nearest = compared.min_by_key(|(at, recording, differences)| {
        let elsewhere = recording.asked.route() != asked.route();
        let weight: usize = differences.iter().map(Difference::weight).sum();
        (elsewhere, weight, recording.played, *at)
    });
    match nearest {
        None => text.push_str("so there is no similar one"),
        Some((at, recording, differences)) => {
            describe(&mut text, asked, at, recording, &differences);
        }
    }
    text.push_str(
        "\nIf the request is correct, record it again: set `TURNWRIGHT_RECORD=1` if you use `Cassette::auto`, otherwise use `Cassette::record`.",
    );
    Error::new(ErrorCode::INVALID_MODEL_CONFIG, text)
}

fn describe(
    text: &mut String,
    asked: &Asked,
    at: usize,
    recording: &Recording,
    differences: &[Difference<'_>],
) {
    // Writing to a string cannot fail.
    let of = &recording.asked;
    let elsewhere = (of.route(), &of.method) != (asked.route(), &asked.method);
    if !elsewhere && differences.is_empty() {
        text.push_str(&format!(
            "and each equal one (number {at}) was already played"
        ));
        return;
    }
    let played = if recording.played {
        " and was already played"
    } else {
        ""
    };
    let _ = write!(text, "of which number {at} is the closest{played}:");
    if elsewhere {
        let _ = write!(text, "\n  recorded {} {}", of.method, of.route());
    }
    for difference in differences.iter().take(LISTED) {
        let _ = write!(text, "\n  {difference}");
    }
    if let Some(more @ 1..) = differences.len().checked_sub(LISTED) {
        let _ = write!(text, "\n  and {more} more");
    }
}
