//! Whether a response is a stream of events or one body of JSON.
//!
//! Its first bytes decide: content types are missing, too general or wrong.

use turnwright_core::{Error, ErrorCode};

use super::complaint::{GLIMPSE, not_of_the_protocol, shown, too_large};

const MARK: &[u8] = b"\xEF\xBB\xBF";
/// How much is looked at, and shown of what is neither: 80 characters of 4 bytes.
const ENOUGH: usize = 4 * GLIMPSE;
/// The fields of an event.
const EVENT_FIELDS: [&[u8]; 5] = [b":", b"data:", b"event:", b"id:", b"retry:"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Events,
    Json,
}

/// Looks at the beginning of a response.
pub(super) struct Sniff {
    content_type: Option<String>,
    /// What was seen, without what was blank before it.
    head: Vec<u8>,
    /// How much was blank.
    blank: usize,
}

enum Guess {
    Is(Form),
    Neither,
    /// It may become the beginning of either.
    Open,
}

impl Sniff {
    pub(super) fn new(content_type: Option<&str>) -> Self {
        let media = content_type.map(|it| it.split(';').next().unwrap_or_default());
        Sniff {
            content_type: media.map(|it| it.trim().to_ascii_lowercase()),
            head: Vec::new(),
            blank: 0,
        }
    }

    /// Takes what it needs of a piece. Once the form is known, [`Sniff::head`] and the rest of the piece are the response.
    ///
    /// # Errors
    /// It is neither, or blank for as long as `limit`.
    pub(super) fn look(&mut self, piece: &mut &[u8], limit: usize) -> Result<Option<Form>, Error> {
        if self.head.is_empty() {
            let text = piece.trim_ascii_start();
            self.blank = self.blank.saturating_add(piece.len() - text.len());
            *piece = text;
            if self.blank > limit {
                let message = format!("the response begins with more than {limit} blank bytes");
                return Err(too_large(message));
            }
        }
        let (now, later) = piece.split_at(piece.len().min(ENOUGH - self.head.len()));
        self.head.extend_from_slice(now);
        *piece = later;
        match self.guess() {
            Guess::Is(form) => Ok(Some(form)),
            Guess::Neither | Guess::Open if self.head.len() >= ENOUGH => Err(self.neither()),
            Guess::Neither | Guess::Open => Ok(None),
        }
    }

    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The response ended before its form was known.
    pub(super) fn neither(&self) -> Error {
        let is = match &self.content_type {
            Some(content_type) => format!("is {}, and", shown(content_type, GLIMPSE)),
            None => "has no content type, and".to_owned(),
        };
        let text = String::from_utf8_lossy(self.head.strip_prefix(MARK).unwrap_or(&self.head));
        let message = match text.trim() {
            "" => return Error::new(ErrorCode::Wire, "the response is empty"),
            text => format!(
                "the response {is} neither JSON nor a stream of events; is the base URL right? It begins with: {}",
                shown(text, GLIMPSE)
            ),
        };
        not_of_the_protocol(message)
    }

    fn guess(&self) -> Guess {
        let head = match self.head.strip_prefix(MARK) {
            Some(rest) => rest.trim_ascii_start(),
            None if MARK.starts_with(&self.head) => return Guess::Open,
            None => &self.head,
        };
        let says_events = self.content_type.as_deref() == Some("text/event-stream");
        match head.first() {
            None => Guess::Open,
            Some(b'{' | b'[') => Guess::Is(Form::Json),
            Some(b'<') => Guess::Neither,
            _ if EVENT_FIELDS.iter().any(|field| head.starts_with(field)) => {
                Guess::Is(Form::Events)
            }
            // A stream may begin with a field that nobody knows.
            _ if says_events => Guess::Is(Form::Events),
            _ if EVENT_FIELDS.iter().any(|field| field.starts_with(head)) => Guess::Open,
            _ => Guess::Neither,
        }
    }
}
