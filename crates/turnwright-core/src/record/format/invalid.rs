//! Why stored JSON is not a valid record.

use std::borrow::Cow;

use serde_path_to_error::Segment;

use super::field::VERSION;
use crate::error::{Error, ErrorCode, ErrorKind};
use crate::record::RecordKind;
use crate::schema::quote;

/// The path of a field and what is wrong there. Never contains the field's content.
pub(super) struct Invalid {
    path: String,
    reason: Cow<'static, str>,
    source: Option<Error>,
}

impl Invalid {
    pub(super) fn new(path: impl Into<String>, reason: impl Into<Cow<'static, str>>) -> Self {
        Invalid {
            path: path.into(),
            reason: reason.into(),
            source: None,
        }
    }

    pub(super) fn missing(path: impl Into<String>) -> Self {
        Invalid::new(path, "is missing")
    }

    /// Returns the error for an object in the field `parent`.
    pub(super) fn inside(mut self, parent: &str) -> Self {
        self.path = match self.path.is_empty() {
            true => parent.to_owned(),
            false => format!("{parent}.{}", self.path),
        };
        self
    }

    /// Converts to the error of a record that cannot be read.
    pub(super) fn unreadable(self, kind: RecordKind, id: Option<&str>) -> Error {
        let id = id.map_or(String::new(), |id| format!(" {}", quote(&id.into())));
        let dot = if self.path.is_empty() { "" } else { ": " };
        let Invalid { path, reason, .. } = self;
        let message = format!("the stored {kind}{id} cannot be read: {path}{dot}{reason}");
        // Retrying does not help.
        let error = Error::new(ErrorCode::STORE_ERROR, message).with_kind(ErrorKind::Internal);
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }

    /// Returns what is wrong with the fields `v` and `kind`, if anything.
    pub(super) fn of_header(kind: RecordKind, version: u64, found: &str) -> Option<Self> {
        if version != VERSION {
            let reason =
                format!("is {version}, written by a later release: this release reads {VERSION}");
            return Some(Invalid::new("v", reason));
        }
        let reason = || format!("is not the requested `{kind}`");
        (found != kind.as_str()).then(|| Invalid::new("kind", reason()))
    }
}

/// Errors of the domain types.
impl From<Error> for Invalid {
    fn from(error: Error) -> Self {
        let mut invalid = Invalid::new("", error.message().to_owned());
        invalid.source = Some(error);
        invalid
    }
}

/// Errors of serde. Its message quotes the content, so only the parts that come from our types are used.
impl From<serde_path_to_error::Error<serde_json::Error>> for Invalid {
    fn from(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        let mut path = String::new();
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => path.push_str(&format!("[{index}]")),
                Segment::Map { key } if path.is_empty() => path.push_str(key),
                // The names in the stash of a media and the keys of labels are content.
                Segment::Map { .. } if path.ends_with("stash") || path == "labels" => break,
                Segment::Map { key } => path.push_str(&format!(".{key}")),
                Segment::Enum { .. } | Segment::Unknown => break,
            }
        }
        let message = error.inner().to_string();
        let absent = message.strip_prefix("missing field `");
        if let Some((field, _)) = absent.and_then(|rest| rest.split_once('`')) {
            let invalid = Invalid::missing(field);
            return match path.is_empty() {
                true => invalid,
                false => invalid.inside(&path),
            };
        }
        if message.starts_with("invalid type: null") {
            return Invalid::missing(path);
        }
        match message.rsplit_once(", expected ") {
            Some((_, expected)) if expected.starts_with("struct ") => {
                Invalid::new(path, "expected an object")
            }
            Some((_, expected)) => Invalid::new(path, format!("expected {expected}")),
            None => Invalid::new(path, "has an invalid value"),
        }
    }
}

/// The error of a record that cannot be written.
pub(super) fn unstorable(kind: RecordKind, reason: &str) -> Error {
    let message = format!("the {kind} cannot be stored: {reason}");
    Error::new(ErrorCode::STORE_ERROR, message).with_kind(ErrorKind::Internal)
}
