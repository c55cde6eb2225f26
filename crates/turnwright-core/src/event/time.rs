//! The time of an event. It is formatted only when it is serialised.

use std::time::{Duration, SystemTime};

use serde::Serializer;

use crate::record::time_text;

/// Formats as RFC 3339 in UTC.
pub(super) fn rfc3339<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&time_text(*time))
}

/// Formats as milliseconds with a fraction.
pub(super) fn as_millis<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(duration.as_secs_f64() * 1000.0)
}
