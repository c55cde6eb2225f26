//! Why a record cannot be read or written.

use std::borrow::Cow;
use std::fmt::Display;

use serde_path_to_error::Segment;

use crate::error::{Error, ErrorCode, ErrorKind};
use crate::schema::quote;

/// Starts the message of an error that is made here and shows no content. The messages of serde start otherwise, and quote content.
pub(super) const OURS: &str = "stored: ";

/// The path of a field and what is wrong there. Never contains the field's content.
pub(in crate::record) struct Invalid {
    path: String,
    reason: Cow<'static, str>,
    source: Option<Error>,
}

impl Invalid {
    pub(in crate::record) fn new(
        path: impl Into<String>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Invalid {
            path: path.into(),
            reason: reason.into(),
            source: None,
        }
    }

    pub(in crate::record) fn missing(path: impl Into<String>) -> Self {
        Invalid::new(path, "is missing")
    }

    /// Converts to the error of a record that cannot be read.
    pub(in crate::record) fn unreadable(self, kind: impl Display, id: Option<&str>) -> Error {
        let id = id.map_or(String::new(), |id| format!(" {}", quote(&id.into())));
        self.into_error(&format!("the stored {kind}{id} cannot be read"))
    }

    /// Converts to the error of a record that cannot be written.
    pub(in crate::record) fn unstorable(self, kind: impl Display) -> Error {
        self.into_error(&format!("the {kind} cannot be stored"))
    }

    fn into_error(self, what: &str) -> Error {
        let Invalid { path, reason, .. } = self;
        let colon = if path.is_empty() { "" } else { ": " };
        let message = format!("{what}: {path}{colon}{reason}");
        // Retrying does not help.
        let error = Error::new(ErrorCode::STORE_ERROR, message).with_kind(ErrorKind::Internal);
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }
}

/// What the check of a record found.
impl From<Error> for Invalid {
    fn from(error: Error) -> Self {
        let mut invalid = Invalid::new("", error.message().to_owned());
        invalid.source = Some(error);
        invalid
    }
}

/// Errors of serde. Its messages quote content, so only the parts that come from our types are used.
impl From<serde_path_to_error::Error<serde_json::Error>> for Invalid {
    fn from(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        let mut path = String::new();
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => path.push_str(&format!("[{index}]")),
                // The names in the stash of a media and the keys of labels are content.
                Segment::Map { .. } if path.ends_with("stash") || path == "labels" => break,
                Segment::Map { key } if path.is_empty() => path.push_str(key),
                Segment::Map { key } => path.push_str(&format!(".{key}")),
                Segment::Enum { .. } => {}
                Segment::Unknown => break,
            }
        }
        let message = error.inner().to_string();
        if let Some(reason) = message.strip_prefix(OURS) {
            return Invalid::new(path, reason.to_owned());
        }
        let absent = message.strip_prefix("missing field `");
        if let Some((field, _)) = absent.and_then(|rest| rest.split_once('`')) {
            let dot = if path.is_empty() { "" } else { "." };
            return Invalid::missing(format!("{path}{dot}{field}"));
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
