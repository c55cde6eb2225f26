//! Times as RFC 3339 text in UTC.

use std::time::SystemTime;

use jiff::Timestamp;

/// Formats a time with nine fractional digits. Years outside of 0 to 9999 have a sign and six digits. A time outside of the range
/// of [`Timestamp`] (years -9999 to 9999) is clamped.
pub(crate) fn format(time: SystemTime) -> String {
    let clamped = match time < SystemTime::UNIX_EPOCH {
        true => Timestamp::MIN,
        false => Timestamp::MAX,
    };
    format!("{:.9}", Timestamp::try_from(time).unwrap_or(clamped))
}

/// Parses the output of [`format`] and other RFC 3339 text.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    text.parse().ok().map(Timestamp::into)
}
