//! A strict parser of envelopes that knows the secret, implemented from the description only.

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use turnwright_core::trust::restore;

/// An envelope that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) tag: String,
    pub(super) id: String,
    pub(super) part: u32,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) content: String,
}

/// Finds every envelope with a valid nonce, including nested ones.
pub(super) fn parse(prompt: &str, key: &[u8; 32]) -> Vec<Found> {
    prompt
        .match_indices("<tw-")
        .filter_map(|(at, _)| envelope(&prompt[at..], key))
        .collect()
}

fn envelope(text: &str, key: &[u8; 32]) -> Option<Found> {
    let tag = ["tw-trusted", "tw-untrusted", "tw-agent", "tw-sender"]
        .into_iter()
        .find(|tag| {
            text[1..]
                .strip_prefix(tag)
                .is_some_and(|rest| rest.starts_with('-'))
        })?;
    let rest = &text[tag.len() + 2..];
    let nonce = rest.get(..20)?;
    let (id, rest) = value(rest.get(20..)?.strip_prefix(" id=\"")?)?;
    let (part, mut rest) = value(rest.strip_prefix(" part=\"")?)?;
    let mut attributes = Vec::new();
    while let Some(attribute) = rest.strip_prefix(' ') {
        let (name, after) = attribute.split_once("=\"")?;
        let (value, after) = value(after)?;
        attributes.push((name.to_owned(), value));
        rest = after;
    }
    let body = rest.strip_prefix(">\n")?;
    let end = body.find(&format!("\n</{tag}-{nonce}>"))?;
    let found = Found {
        tag: tag.to_owned(),
        id,
        part: part.parse().ok()?,
        attributes,
        content: restore(&body[..end]).into_owned(),
    };
    (found.nonce(key) == nonce).then_some(found)
}

fn value(text: &str) -> Option<(String, &str)> {
    let (value, rest) = text.split_once('"')?;
    if value.contains(['<', '>', '\n']) {
        return None;
    }
    Some((restore(&unescape(value)?).into_owned(), rest))
}

/// Attributes contain only hexadecimal references.
pub(super) fn unescape(value: &str) -> Option<String> {
    let mut pieces = value.split('&');
    let mut plain = pieces.next()?.to_owned();
    for piece in pieces {
        let (code, rest) = piece.strip_prefix("#x")?.split_once(';')?;
        plain.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        plain.push_str(rest);
    }
    Some(plain)
}

impl Found {
    fn nonce(&self, key: &[u8; 32]) -> String {
        let mut pieces: Vec<Vec<u8>> = vec![
            b"turnwright envelope 1".to_vec(),
            self.tag.clone().into_bytes(),
            self.id.clone().into_bytes(),
            self.part.to_be_bytes().to_vec(),
            (self.attributes.len() as u64).to_be_bytes().to_vec(),
        ];
        for (name, value) in &self.attributes {
            pieces.push(name.clone().into_bytes());
            pieces.push(value.clone().into_bytes());
        }
        pieces.push(Sha256::digest(&self.content).to_vec());
        let mut message = Vec::new();
        for piece in pieces {
            message.extend((piece.len() as u64).to_be_bytes());
            message.extend(piece);
        }
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(&message);
        let digest = mac.finalize().into_bytes();
        digest[..10]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
