//! The fence around content, with a code that the content cannot know.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::lookalike::{is_mark, is_unseen};
use super::neutralise::neutralise;
use super::secret::ConversationSecret;

/// 80 bits.
const NONCE_BYTES: usize = 10;

/// Tells these codes from anything else that may one day be made with the same secret.
const PURPOSE: &[u8] = b"turnwright envelope 1";

/// Which fence stands around content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fence {
    /// What a tool says that is trusted.
    Trusted,
    /// What comes from elsewhere: data, never instructions.
    Untrusted,
    /// The words of another agent.
    Agent,
}

impl Fence {
    /// The name of its tag, without the code.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Fence::Trusted => "tw-trusted",
            Fence::Untrusted => "tw-untrusted",
            Fence::Agent => "tw-agent",
        }
    }
}

/// A fence that is about to be put around one piece of content. See the [module](super) for what it looks like.
#[derive(Clone)]
#[must_use = "an envelope holds nothing until it is sealed"]
pub struct Envelope {
    fence: Fence,
    record_id: String,
    part: u32,
    attributes: Vec<(&'static str, String)>,
}

impl Envelope {
    /// Around content of a record.
    pub fn new(fence: Fence, record_id: impl Into<String>) -> Self {
        Envelope {
            fence,
            record_id: record_id.into(),
            part: 0,
            attributes: Vec::new(),
        }
    }

    /// Which part of the record it is; 0 unless it is said.
    pub fn part(mut self, part: u32) -> Self {
        self.part = part;
        self
    }

    /// Something about the content, in the opening tag, after those before. Of the name, only ASCII letters, digits,
    /// hyphens and underscores are written; the value may be anything.
    pub fn attribute(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    /// The envelope with the content in it. The same envelope, secret and content give the same bytes.
    #[must_use]
    pub fn seal(&self, secret: &ConversationSecret, content: &str) -> String {
        let tag = self.fence.tag();
        let nonce = self.nonce(secret, content);
        let content = neutralise(content);
        let mut sealed = String::with_capacity(content.len() + 160);
        // Writing into a String cannot fail.
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

    /// A keyed digest of everything that the envelope says, each piece with its length, so that no two envelopes are
    /// digested alike: a code that leaked fits no other record, part or content.
    fn nonce(&self, secret: &ConversationSecret, content: &str) -> String {
        // A key of any length is taken.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.bytes()) else {
            return String::new();
        };
        let mut piece = |bytes: &[u8]| {
            mac.update(&(bytes.len() as u64).to_be_bytes());
            mac.update(bytes);
        };
        piece(PURPOSE);
        piece(self.fence.tag().as_bytes());
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
    fence,
    record_id,
    part
});

const fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Neutralised, and then everything as a reference that could end the value, hide in it or turn it around.
fn write_escaped(into: &mut String, value: &str) {
    for (index, c) in neutralise(value).char_indices() {
        // A mark that comes first would go with the quote before it.
        if needs_escape(c) || (index == 0 && is_mark(c)) {
            let _ = write!(into, "&#x{:x};", u32::from(c));
        } else {
            into.push(c);
        }
    }
}

fn needs_escape(c: char) -> bool {
    match c {
        // A reader who thinks of JSON must not take the quote behind a backslash for a part of the value.
        '"' | '\'' | '<' | '>' | '&' | '\\' | '`' => true,
        ' ' => false,
        _ => c.is_whitespace() || is_unseen(c),
    }
}
