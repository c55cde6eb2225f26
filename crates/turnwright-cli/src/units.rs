//! Numbers, sizes and times: parsed from options, and formatted for output.

use std::time::{Duration, SystemTime};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Units of time, in seconds.
const SPANS: &[(&str, u64)] = &[
    ("s", 1),
    ("m", MINUTE),
    ("min", MINUTE),
    ("h", HOUR),
    ("d", DAY),
    ("w", 7 * DAY),
];

/// Units of size, in bytes.
const SIZES: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
];

/// Parses a time span: `90s`, `30d`.
pub(crate) fn parse_span(text: &str) -> Result<Duration, String> {
    parse(text, SPANS, "90s, 30m, 12h, 30d or 8w").map(Duration::from_secs)
}

/// Parses a size: `500000`, `500MB`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    parse(text, SIZES, "500000, 500MB or 2GB")
}

fn parse(text: &str, units: &[(&str, u64)], examples: &str) -> Result<u64, String> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|ch: char| !ch.is_ascii_digit());
    let unit = text.get(digits.len()..).unwrap_or_default().trim();
    let unit = units.iter().find(|(name, _)| *name == unit);
    let (Some((_, unit)), Ok(number)) = (unit, digits.parse::<u64>()) else {
        return Err(format!("use a whole number and a unit: {examples}"));
    };
    number
        .checked_mul(*unit)
        .ok_or_else(|| "the number is too large".to_owned())
}

/// How long ago a time was, for users.
pub(crate) fn ago(at: SystemTime) -> String {
    let elapsed = SystemTime::now().duration_since(at);
    match elapsed.map(|elapsed| elapsed.as_secs()) {
        Ok(0..5) => "just now".to_owned(),
        Ok(seconds @ 5..100) => format!("{seconds} s ago"),
        Ok(seconds @ 100..6_000) => format!("{} min ago", seconds / MINUTE),
        Ok(seconds @ 6_000..172_800) => format!("{} h ago", seconds / HOUR),
        Ok(seconds) => format!("{} days ago", seconds / DAY),
        Err(_) => "in the future".to_owned(),
    }
}

/// A duration, for users.
pub(crate) fn took(time: Duration) -> String {
    match time.as_secs() {
        0..100 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 100..6_000 => format!("{} min", seconds / MINUTE),
        seconds => format!("{} h", seconds / HOUR),
    }
}

/// A number with thousands separators.
pub(crate) fn count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", count(number / 1_000), number % 1_000),
    }
}

/// A number with its noun: `1 call`, `2,000 calls`.
pub(crate) fn plural(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", count(number))
}

/// The first `most` items, with the number of the others: `a, b and 3 more`.
pub(crate) fn listed(items: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = items.len().saturating_sub(most);
    let text = items.take(most).collect::<Vec<_>>().join(", ");
    match more {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// A number of bytes, for users.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [999, 1_500, 31_400_000].map(size),
            ["999 bytes", "1.5 kB", "31.4 MB"]
        );
    }

    #[test]
    fn time_spans_are_parsed() {
        let seconds = |text: &str| parse_span(text).map(|span| span.as_secs());
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("30 m"), Ok(1_800));
        assert_eq!(seconds("30d"), Ok(2_592_000));
        assert_eq!(seconds("8w"), Ok(8 * 7 * 86_400));
        for wrong in [
            "",
            "30",
            "d",
            "-1d",
            "1.5d",
            "30x",
            "99999999999999999999d",
            "9999999999999999w",
        ] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_parsed() {
        let bytes = parse_bytes;
        assert_eq!(bytes("500"), Ok(500));
        assert_eq!(bytes("10kB"), Ok(10_000));
        assert_eq!(bytes("2 GB"), Ok(2_000_000_000));
        for wrong in [
            "",
            "MB",
            "-5",
            "1.",
            ".5",
            "1.2.3",
            "5 XB",
            "99999999999999999999",
            "99999999999TB",
            "1.5GB",
        ] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_formatted() {
        let before = |seconds| ago(SystemTime::now() - Duration::from_secs(seconds));
        assert_eq!(before(0), "just now");
        assert_eq!(before(3_601), "60 min ago");
        assert_eq!(before(86_400), "24 h ago");
        assert_eq!(before(40 * DAY), "40 days ago");
        assert_eq!(
            ago(SystemTime::now() + Duration::from_secs(60)),
            "in the future"
        );
        assert_eq!(took(Duration::from_millis(1_240)), "1.2 s");
        assert_eq!(took(Duration::from_secs(150)), "2 min");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "[-0-9. kKmMgGtTiIbBdhwsx]{0,40}") {
            let (bytes, span) = (parse_bytes(&text), parse_span(&text));
            // A whole number without a unit is that number of bytes.
            if let Ok(number) = text.parse::<u64>() {
                proptest::prop_assert_eq!(bytes, Ok(number));
                proptest::prop_assert!(span.is_err());
            }
        }
    }
}
