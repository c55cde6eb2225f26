//! Detects whether a response is a stream or a JSON body.
//!
//! The first bytes decide, because content types are missing, too general or wrong.

use turnwright_core::{Error, ErrorCode};

use super::server_error::{EXCERPT, excerpt, no_response, too_large};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The maximum number of bytes that are examined and quoted in errors: 80 characters of 4 bytes.
const MAX_HEAD: usize = 4 * EXCERPT;
/// The fields of an event.
const EVENT_FIELDS: [&[u8]; 5] = [b":", b"data:", b"event:", b"id:", b"retry:"];

/// How a protocol frames its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// JSON objects, one per line.
    Objects,
}

/// The format of one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Events,
    Objects,
    Json,
}

/// Detects the format from the beginning of a response.
pub(super) struct FormatDetector {
    framing: Framing,
    content_type: Option<String>,
    /// The first bytes, without leading whitespace.
    head: Vec<u8>,
    /// The number of leading whitespace bytes.
    blank: usize,
}

impl FormatDetector {
    pub(super) fn new(framing: Framing, content_type: Option<&str>) -> Self {
        let media = content_type.map(|text| text.split(';').next().unwrap_or_default());
        FormatDetector {
            framing,
            content_type: media.map(|text| text.trim().to_ascii_lowercase()),
            head: Vec::new(),
            blank: 0,
        }
    }

    /// Consumes what it needs from `piece`. Once the format is known, [`FormatDetector::head`] and the rest of
    /// `piece` are the response.
    ///
    /// # Errors
    /// Fails if the response has neither format, or starts with more than `limit` bytes of whitespace.
    pub(super) fn detect(
        &mut self,
        piece: &mut &[u8],
        limit: usize,
    ) -> Result<Option<Format>, Error> {
        if self.head.is_empty() {
            let text = piece.trim_ascii_start();
            self.blank = self.blank.saturating_add(piece.len() - text.len());
            *piece = text;
            if self.blank > limit {
                let message =
                    format!("the response starts with more than {limit} bytes of whitespace");
                return Err(too_large(message));
            }
        }
        let (now, later) = piece.split_at(piece.len().min(MAX_HEAD - self.head.len()));
        self.head.extend_from_slice(now);
        *piece = later;
        match self.guess() {
            None if self.head.len() >= MAX_HEAD => Err(self.unknown()),
            format => Ok(format),
        }
    }

    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the error for a response of unknown format.
    pub(super) fn unknown(&self) -> Error {
        let found = match &self.content_type {
            Some(content_type) => format!("is {}, and", excerpt(content_type, EXCERPT)),
            None => "has no content type, and".to_owned(),
        };
        let text = self.head.strip_prefix(BYTE_ORDER_MARK);
        let text = String::from_utf8_lossy(text.unwrap_or(&self.head));
        let text = match text.trim() {
            "" => return Error::new(ErrorCode::WIRE_ERROR, "the response is empty"),
            text => text,
        };
        let start = excerpt(text, EXCERPT);
        no_response(if text.starts_with('<') {
            format!(
                "the response {found} a web page, not an answer of a model: this looks like a proxy's login or error page, or the base URL is wrong. It starts with: {start}"
            )
        } else {
            format!(
                "the response {found} neither JSON nor a stream of events; is the base URL right? It starts with: {start}"
            )
        })
    }

    /// Returns the format, if the first bytes show it. More bytes may show it later.
    fn guess(&self) -> Option<Format> {
        let head = match self.head.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => rest.trim_ascii_start(),
            None if BYTE_ORDER_MARK.starts_with(&self.head) => return None,
            None => &self.head,
        };
        let declares_events = self.content_type.as_deref() == Some("text/event-stream");
        match head.first() {
            Some(b'{') if self.framing == Framing::Objects => Some(Format::Objects),
            Some(b'{' | b'[') => Some(Format::Json),
            None | Some(b'<') => None,
            // A stream may begin with an unknown field.
            _ if declares_events => Some(Format::Events),
            _ => {
                let is_field = EVENT_FIELDS.iter().any(|field| head.starts_with(field));
                is_field.then_some(Format::Events)
            }
        }
    }
}
