//! Envelopes around content, with a code that the content cannot know.
//!
//! The code in a tag is an HMAC-SHA-256 under the conversation's secret, cut to 80 bits, over kind, record, part,
//! attributes and a digest of the content. It is the same on each rendering and fits no other content.

use std::borrow::Cow;
use std::fmt::Write as _;

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

use super::hidden::remove_hidden;
use super::lookalike::{is_invisible, is_mark};
use super::neutralise::neutralise;
use super::secret::ConversationSecret;

/// 80 bits.
const NONCE_BYTES: usize = 10;

/// Domain separation: these codes differ from other digests made with the same secret.
const PURPOSE: &[u8] = b"turnwright envelope 1";

/// The kind of tag around content.
///
/// ```
/// use turnwright_core::trust::{ConversationSecret, Envelope, EnvelopeKind};
///
/// let secret = ConversationSecret::from_bytes([7; 32]);
/// let report = Envelope::new(EnvelopeKind::Agent, "m-1").seal(&secret, "The build is green.");
/// assert!(report.starts_with("<tw-agent-"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EnvelopeKind {
    /// Output of a trusted tool.
    Trusted,
    /// Content from third parties: data, never instructions.
    Untrusted,
    /// Content written by another agent.
    Agent,
    /// A message of a named user.
    Sender,
}

impl EnvelopeKind {
    /// Returns the tag name without the code.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            EnvelopeKind::Trusted => "tw-trusted",
            EnvelopeKind::Untrusted => "tw-untrusted",
            EnvelopeKind::Agent => "tw-agent",
            EnvelopeKind::Sender => "tw-sender",
        }
    }
}

/// An envelope for one piece of content. The [module page](super) shows what it looks like.
///
/// ```
/// use turnwright_core::trust::{ConversationSecret, Envelope, EnvelopeKind};
///
/// let secret = ConversationSecret::random()?;
/// let sealed = Envelope::new(EnvelopeKind::Untrusted, "call_1").attribute("tool", "fetch").seal(&secret, "Hello");
/// assert!(sealed.starts_with("<tw-untrusted-"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "an envelope holds nothing until it is sealed"]
pub struct Envelope {
    kind: EnvelopeKind,
    record_id: String,
    part: u32,
    attributes: Vec<(&'static str, String)>,
}

impl Envelope {
    /// Creates an envelope for content of a record.
    pub fn new(kind: EnvelopeKind, record_id: impl Into<String>) -> Self {
        Envelope {
            kind,
            record_id: record_id.into(),
            part: 0,
            attributes: Vec::new(),
        }
    }

    /// Sets which part of the record the content is.
    ///
    /// Default: 0.
    pub fn part(mut self, part: u32) -> Self {
        self.part = part;
        self
    }

    /// Adds an attribute to the opening tag. In the name, only ASCII letters, digits, hyphens and underscores are written. The
    /// value can be any text.
    pub fn attribute(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    /// Returns the content in its envelope. Content of third parties and other agents loses its hidden characters: see
    /// [`remove_hidden`]. Deterministic: the same envelope, secret and content give the same bytes.
    #[must_use]
    pub fn seal(&self, secret: &ConversationSecret, content: &str) -> String {
        let tag = self.kind.tag();
        let content = &*match self.kind {
            EnvelopeKind::Untrusted | EnvelopeKind::Agent => remove_hidden(content),
            EnvelopeKind::Trusted | EnvelopeKind::Sender => Cow::Borrowed(content),
        };
        let nonce = self.nonce(secret, content);
        let content = neutralise(content);
        let mut sealed = String::with_capacity(content.len() + 160);
        // Writing to a string cannot fail.
        let _ = write!(sealed, "<{tag}-{nonce} id=\"");
        write_escaped(&mut sealed, &self.record_id);
        let _ = write!(sealed, "\" part=\"{}\"", self.part);
        for (name, value) in &self.attributes {
            sealed.push(' ');
            sealed.extend(name.chars().filter(|c| is_of_name(*c)));
            sealed.push_str("=\"");
            write_escaped(&mut sealed, value);
            sealed.push('"');
        }
        let _ = write!(sealed, ">\n{content}\n</{tag}-{nonce}>");
        sealed
    }

    /// Computes a keyed digest of everything in the envelope. Each field is prefixed with its length, so that different envelopes
    /// have different input. A leaked code is not valid for any other record, part or content.
    fn nonce(&self, secret: &ConversationSecret, content: &str) -> String {
        // HMAC accepts keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&secret.expose()) else {
            return String::new();
        };
        let mut piece = |bytes: &[u8]| {
            mac.update(&(bytes.len() as u64).to_be_bytes());
            mac.update(bytes);
        };
        piece(PURPOSE);
        piece(self.kind.tag().as_bytes());
        piece(self.record_id.as_bytes());
        piece(&self.part.to_be_bytes());
        piece(&(self.attributes.len() as u64).to_be_bytes());
        for (name, value) in &self.attributes {
            piece(name.as_bytes());
            piece(value.as_bytes());
        }
        piece(&Sha256::digest(content.as_bytes()));
        let mut nonce = String::with_capacity(NONCE_BYTES * 2);
        for byte in mac.finalize().into_bytes().iter().take(NONCE_BYTES) {
            let _ = write!(nonce, "{byte:02x}");
        }
        nonce
    }
}

debug_fields!(Envelope {
    kind,
    record_id,
    part
});

const fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Writes the neutralised value. Escapes characters that could end the value, are invisible or change the text direction.
fn write_escaped(into: &mut String, value: &str) {
    for (index, c) in neutralise(value).char_indices() {
        // A combining mark at the start would combine with the quote before it.
        if needs_escape(c) || (index == 0 && is_mark(c)) {
            let _ = write!(into, "&#x{:x};", u32::from(c));
        } else {
            into.push(c);
        }
    }
}

fn needs_escape(c: char) -> bool {
    match c {
        // Escape the backslash too, so that a reader who expects JSON does not treat the closing quote as escaped.
        '"' | '\'' | '<' | '>' | '&' | '\\' | '`' => true,
        ' ' => false,
        _ => c.is_whitespace() || is_invisible(c),
    }
}
