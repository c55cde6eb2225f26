//! The time of an event: kept as it was read, formatted only when it is serialised.

use std::time::{Duration, SystemTime};

use serde::Serializer;

use crate::record::time_text;

/// As RFC 3339 text in UTC.
pub(super) fn rfc3339<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&time_text(*time))
}

/// As milliseconds, with a fraction.
pub(super) fn as_millis<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(duration.as_secs_f64() * 1000.0)
}
