//! What is said when no recording answers a request.

use std::fmt::Write as _;

use turnwright_core::{Error, ErrorCode};

use super::diff::{Difference, diff};
use super::file::Asked;
use super::replay::Recording;

/// How many differences are listed.
const LISTED: usize = 20;

/// The code is a fatal one: a miss must not be tried again.
pub(super) fn miss(name: &str, asked: &Asked, recordings: &[Recording]) -> Error {
    let mut text = format!(
        "no recording answers {} {}: {name} holds {}, ",
        asked.method,
        asked.route(),
        recordings.len()
    );
    match nearest(asked, recordings) {
        None => text.push_str("so there is none that is near"),
        Some(nearest) => tell(&mut text, asked, &nearest),
    }
    text.push_str(
        "\nIf the request is right, record anew: `TURNWRIGHT_RECORD=1` where `Cassette::auto` is used, else `Cassette::record`.",
    );
    Error::new(ErrorCode::InvalidModelConfig, text)
}

struct Nearest<'r> {
    at: usize,
    recording: &'r Recording,
    differences: Vec<Difference<'r>>,
}

fn nearest<'r>(asked: &'r Asked, recordings: &'r [Recording]) -> Option<Nearest<'r>> {
    let all = recordings
        .iter()
        .enumerate()
        .map(|(at, recording)| Nearest {
            at,
            recording,
            differences: diff(&recording.asked.body, &asked.body),
        });
    all.min_by_key(|it| {
        let elsewhere = it.recording.asked.route() != asked.route();
        let weight: usize = it.differences.iter().map(Difference::weight).sum();
        (elsewhere, weight, it.recording.played, it.at)
    })
}

fn tell(text: &mut String, asked: &Asked, nearest: &Nearest<'_>) {
    // Writing into a string cannot fail.
    let Nearest {
        at,
        recording,
        differences,
    } = nearest;
    let of = &recording.asked;
    let elsewhere = (of.route(), &of.method) != (asked.route(), &asked.method);
    if !elsewhere && differences.is_empty() {
        let _ = write!(
            text,
            "and each that is equal (number {at}) was played already"
        );
        return;
    }
    let played = if recording.played {
        " and was played already"
    } else {
        ""
    };
    let _ = write!(text, "of which number {at} is nearest{played}:");
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
