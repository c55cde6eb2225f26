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
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.rsplitn(3, '-');
    let (day, month) = (two_digits(date.next()?)?, two_digits(date.next()?)?);
    let year: i64 = date.next()?.parse().ok()?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut clock = clock.split(':');
    let mut part = |most: i64| two_digits(clock.next()?).filter(|value| *value <= most);
    let (hour, minute, second) = (part(23)?, part(59)?, part(59)?);
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
    if clock.next().is_some() || !digits || fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let nanos: i128 = format!("{fraction:0<9}").parse().ok()?;
    let days = days_of(year, month, day)?;
    let seconds = days.checked_mul(DAY)?;
    let seconds = seconds.checked_add(hour * 3600 + minute * 60 + second)?;
    let nanos = i128::from(seconds) * NANOS + nanos;
    let far = nanos.unsigned_abs();
    let apart = Duration::new(
        u64::try_from(far / NANOS.unsigned_abs()).ok()?,
        u32::try_from(far % NANOS.unsigned_abs()).ok()?,
    );
    match nanos < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(apart),
        false => SystemTime::UNIX_EPOCH.checked_add(apart),
    }
}

fn two_digits(text: &str) -> Option<i64> {
    match text.as_bytes() {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
        }
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
    // Years that the system's seconds reach, with room to reckon.
    if year.unsigned_abs() > 300_000_000_000 || !(1..=12).contains(&month) {
        return None;
    }
    let (from_march, month_from_march) = match month {
        3.. => (year, month - 3),
        _ => (year - 1, month + 9),
    };
    let (era, in_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
    let in_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = era * ERA + in_era * 365 + in_era / 4 - in_era / 100 + in_year - TO_1970;
    (date_of(days) == (year, month, day)).then_some(days)
}
