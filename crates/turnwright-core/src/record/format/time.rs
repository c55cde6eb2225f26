//! Times as RFC 3339 text in UTC.

use std::time::SystemTime;

use jiff::Timestamp;
use serde::Serializer;

/// Formats a time with nine fractional digits. Years outside of 0 to 9999 have a sign and six digits. A time outside of the range
/// of [`Timestamp`] (years -9999 to 9999) is clamped.
pub(crate) fn format(time: SystemTime) -> String {
    let clamped = match time < SystemTime::UNIX_EPOCH {
        true => Timestamp::MIN,
        false => Timestamp::MAX,
    };
    format!("{:.9}", Timestamp::try_from(time).unwrap_or(clamped))
}

/// Serialises a time as [`format`] writes it.
pub(crate) fn rfc3339<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&format(*time))
}

/// Parses the output of [`format`] and other RFC 3339 text. Earlier releases wrote years of any length; out-of-range years are
/// clamped.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let time = text.parse().ok().or_else(|| clamp(text))?;
    Some(Timestamp::into(time))
}

fn clamp(text: &str) -> Option<Timestamp> {
    let year_end = text.find('T')?.checked_sub("-01-31".len())?;
    let (year, rest) = text.split_at_checked(year_end)?;
    // A leap year has all days of other years.
    format!("2000{rest}").parse::<Timestamp>().ok()?;
    match year.parse::<i64>().ok()? {
        ..=-9999 => Some(Timestamp::MIN),
        9999.. => Some(Timestamp::MAX),
        _ => None,
    }
}
