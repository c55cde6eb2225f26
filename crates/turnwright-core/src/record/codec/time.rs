//! Times as RFC 3339 text, to the nanosecond, for every time that the system can hold.

use std::time::{Duration, SystemTime};

const NANOS: i128 = 1_000_000_000;
const DAY: i64 = 86_400;
/// From the first of March of the year 0, from which leap days come last, to the first of January 1970.
const TO_1970: i64 = 719_468;
/// Days in four hundred years, after which the calendar repeats.
const ERA: i64 = 146_097;

/// A time in UTC. Years that have no four digits are written with a sign and at least six.
pub(crate) fn format(time: SystemTime) -> String {
    let nanos = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i128::from(after.as_secs()) * NANOS + i128::from(after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            -(i128::from(before.as_secs()) * NANOS + i128::from(before.subsec_nanos()))
        }
    };
    let (seconds, nanos) = (nanos.div_euclid(NANOS), nanos.rem_euclid(NANOS));
    // The system counts seconds in 64 bits.
    let seconds = i64::try_from(seconds).unwrap_or_default();
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{year:+07}"),
    };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

/// What [`format`] wrote; with a shorter fraction of a second too, or none.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let text = text.as_bytes().strip_suffix(b"Z")?;
    let (date, clock) = text.split_at_checked(text.iter().position(|byte| *byte == b'T')?)?;
    let [year @ .., b'-', m, mo, b'-', d, da] = date else {
        return None;
    };
    let days = days_of(year_of(year)?, two(*m, *mo)?, two(*d, *da)?)?;
    let [_, h, ho, b':', m, mi, b':', s, se, fraction @ ..] = clock else {
        return None;
    };
    let (hour, minute, second) = (two(*h, *ho)?, two(*m, *mi)?, two(*s, *se)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let nanos = match fraction {
        [] => 0,
        [b'.', digits @ ..] => nanos_of(digits)?,
        _ => return None,
    };
    let seconds = days.checked_mul(DAY)?;
    let seconds = seconds.checked_add(hour * 3600 + minute * 60 + second)?;
    match u64::try_from(seconds) {
        Ok(after) => SystemTime::UNIX_EPOCH.checked_add(Duration::new(after, nanos)),
        Err(_) => {
            let before = Duration::from_secs(seconds.unsigned_abs());
            let whole = SystemTime::UNIX_EPOCH.checked_sub(before)?;
            whole.checked_add(Duration::new(0, nanos))
        }
    }
}

/// Four digits, or a sign and as many as there are.
fn year_of(text: &[u8]) -> Option<i64> {
    match text {
        [a, b, c, d] => Some(two(*a, *b)? * 100 + two(*c, *d)?),
        _ => std::str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// The digits behind the point as nanoseconds.
fn nanos_of(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    let read = digits.iter().try_fold(0, |nanos, digit| match digit {
        b'0'..=b'9' => Some(nanos * 10 + u32::from(digit - b'0')),
        _ => None,
    });
    let missing = (digits.len()..9).fold(1, |scale, _| scale * 10);
    Some(read? * missing)
}

fn two(tens: u8, ones: u8) -> Option<i64> {
    match (tens, ones) {
        (b'0'..=b'9', b'0'..=b'9') => Some(i64::from(tens - b'0') * 10 + i64::from(ones - b'0')),
        _ => None,
    }
}

/// Year, month and day of a number of days after 1970 began.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + TO_1970;
    let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    // Every fourth year has a day more, every hundredth not, the last of the era again.
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, five months have 153 days, again and again.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year;
    match month {
        0..=9 => (year, month + 3, day),
        _ => (year + 1, month - 9, day),
    }
}

/// The days from the beginning of 1970 to a date, if there is that date.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leaps => 29,
        2 => 28,
        _ => return None,
    };
    // Years that the system's seconds reach, with room to reckon.
    if year.unsigned_abs() > 300_000_000_000 || !(1..=last).contains(&day) {
        return None;
    }
    let (from_march, month_from_march) = match month {
        3.. => (year, month - 3),
        _ => (year - 1, month + 9),
    };
    let (era, in_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
    let in_year = (153 * month_from_march + 2) / 5 + day - 1;
    Some(era * ERA + in_era * 365 + in_era / 4 - in_era / 100 + in_year - TO_1970)
}
