//! A view of a text, raw or with its escapes decoded.

use std::ops::Range;

/// Bytes, each with the range of the source that encodes it.
pub(super) struct View {
    bytes: Vec<u8>,
    source: Vec<Range<usize>>,
}

/// Parses an escape at the start of the bytes. Returns its length and its value.
type ReadEscape = fn(&[u8]) -> Option<(usize, Decoded)>;

/// The value of an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decoded {
    Byte(u8),
    Char(char),
}

impl View {
    /// Returns a view of the raw source. All bytes of a character share one range, so that a character is replaced
    /// completely.
    pub(super) fn of(source: &[u8]) -> Self {
        let mut view = View::with_capacity(source.len());
        let mut at = 0;
        for chunk in source.utf8_chunks() {
            for c in chunk.valid().chars() {
                let part = at..at + c.len_utf8();
                at = part.end;
                view.push_char(c, &part);
            }
            for byte in chunk.invalid() {
                view.push(*byte, at..at + 1);
                at += 1;
            }
        }
        view
    }

    fn with_capacity(bytes: usize) -> Self {
        View {
            bytes: Vec::with_capacity(bytes),
            source: Vec::with_capacity(bytes),
        }
    }

    fn push(&mut self, byte: u8, part: Range<usize>) {
        self.bytes.push(byte);
        self.source.push(part);
    }

    fn push_char(&mut self, c: char, part: &Range<usize>) {
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            self.push(byte, part.clone());
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the range of the source that encodes these bytes.
    pub(super) fn source(&self, bytes: Range<usize>) -> Option<Range<usize>> {
        let parts = self.source.get(bytes)?;
        Some(parts.first()?.start..parts.last()?.end)
    }

    /// Returns the text with the escapes of each kind decoded, for each kind that occurs.
    pub(super) fn unescaped(&self) -> impl Iterator<Item = View> {
        let kinds: [(u8, ReadEscape); 3] = [(b'\\', json), (b'%', percent), (b'&', entity)];
        kinds
            .into_iter()
            .filter_map(|(first, read)| self.decoded(first, read))
    }

    fn decoded(&self, first: u8, read: ReadEscape) -> Option<View> {
        if !self.bytes.contains(&first) {
            return None;
        }
        let mut view = View::with_capacity(self.bytes.len());
        let (mut at, mut any) = (0, false);
        while let Some(rest) = self.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let escape = if rest.first() == Some(&first) {
                read(rest)
            } else {
                None
            };
            any |= escape.is_some();
            let length = escape.map_or(1, |(length, _)| length);
            let part = self.source(at..at + length)?;
            match escape {
                Some((_, Decoded::Byte(byte))) => view.push(byte, part),
                Some((_, Decoded::Char(c))) => view.push_char(c, &part),
                None => rest
                    .first()
                    .into_iter()
                    .for_each(|byte| view.push(*byte, part.clone())),
            }
            at += length;
        }
        any.then_some(view)
    }
}

/// `%41`
fn percent(bytes: &[u8]) -> Option<(usize, Decoded)> {
    let byte = u8::try_from(number(bytes.get(1..3)?, 16)?).ok()?;
    Some((3, Decoded::Byte(byte)))
}

/// `\n`, `\/`, `\u0041`, `\u{41}`, `\x41`
fn json(bytes: &[u8]) -> Option<(usize, Decoded)> {
    let plain = |c: char| Some((2, Decoded::Char(c)));
    match bytes.get(1)? {
        b'n' => plain('\n'),
        b'r' => plain('\r'),
        b't' => plain('\t'),
        b'b' => plain('\u{8}'),
        b'f' => plain('\u{c}'),
        mark @ (b'"' | b'\'' | b'\\' | b'/') => plain(char::from(*mark)),
        b'x' => {
            let byte = u8::try_from(number(bytes.get(2..4)?, 16)?).ok()?;
            Some((4, Decoded::Char(char::from(byte))))
        }
        b'u' if bytes.get(2) == Some(&b'{') => {
            let digits = bytes
                .get(3..)?
                .iter()
                .take(7)
                .position(|item| *item == b'}')?;
            let c = number(bytes.get(3..3 + digits)?, 16).and_then(char::from_u32)?;
            Some((4 + digits, Decoded::Char(c)))
        }
        b'u' => {
            let unit = |at: usize| u16::try_from(number(bytes.get(at..at + 4)?, 16)?).ok();
            let first = unit(2)?;
            if let Some(c) = char::from_u32(first.into()) {
                return Some((6, Decoded::Char(c)));
            }
            let second = unit(8).filter(|_| bytes.get(6..8) == Some(b"\\u"))?;
            let c = char::decode_utf16([first, second]).next()?.ok()?;
            Some((12, Decoded::Char(c)))
        }
        _ => None,
    }
}

/// `&amp;`, `&#65;`, `&#x41;`
fn entity(bytes: &[u8]) -> Option<(usize, Decoded)> {
    let length = bytes.iter().take(10).position(|item| *item == b';')?;
    let c = match bytes.get(1..length)? {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        _ => return None,
    };
    Some((length + 1, Decoded::Char(c)))
}

/// Parses digits only: no sign, and at least one.
fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    let all_digits = text.chars().all(|c| c.is_digit(radix));
    u32::from_str_radix(text, radix).ok().filter(|_| all_digits)
}
