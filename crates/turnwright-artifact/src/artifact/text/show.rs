//! Lines, and how their bytes are shown to a model or on a terminal: printable UTF-8 unchanged, everything else as `\xNN`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A line or a part of it, without the line break. The bytes are those of the artifact.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The line number, starting at 0. `None` for the last lines of an artifact whose lines were not counted.
    pub number: Option<u64>,
    /// How many bytes of the line precede these. `None` if some do, but their number is unknown: this is the end of a long last
    /// line whose start was not searched.
    pub offset: Option<u64>,
    /// The bytes, without the line break.
    pub bytes: Vec<u8>,
    /// Whether the line continues after these bytes.
    pub continues: bool,
}

impl Line {
    /// Returns whether this is the complete line.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.offset == Some(0) && !self.continues
    }

    /// Returns the line as text. Invalid UTF-8 becomes `\u{FFFD}`, as does a character that was split because only a part of the
    /// line was requested.
    ///
    /// ```
    /// use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let log = SpooledArtifact::in_memory("one\ntwo\n", ArtifactKind::TEXT);
    /// let excerpt = log.head(1).await?;
    /// assert_eq!(excerpt.lines[0].text(), "one");
    /// # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// Returns how many bytes are needed to show it, including its newline.
    pub(super) fn cost(&self) -> usize {
        cost(&self.bytes) + 1
    }
}

// The text may be secret.
debug_fields!(Line {
    number,
    offset,
    continues
});

/// A note for pages that contain escaped bytes.
pub(super) const NOTE: &str = "bytes that are not printable UTF-8 are shown as \\xNN";

/// The unit of display: a character, or a byte that is not part of one.
struct Unit {
    bytes: usize,
    shown: usize,
}

fn units(bytes: &[u8]) -> impl Iterator<Item = Unit> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let characters = chunk.valid().chars().map(|c| {
            let bytes = c.len_utf8();
            let shown = if is_shown_as_it_is(c) {
                bytes
            } else {
                4 * bytes
            };
            Unit { bytes, shown }
        });
        let others = chunk.invalid().iter().map(|_| Unit { bytes: 1, shown: 4 });
        characters.chain(others)
    })
}

fn is_shown_as_it_is(c: char) -> bool {
    c == '\t' || !c.is_control()
}

/// Returns whether all bytes are shown unchanged, as in most lines.
fn is_plain(bytes: &[u8]) -> bool {
    let plain = |byte: &u8| (0x20..0x7F).contains(byte) || *byte == b'\t';
    bytes.iter().all(plain)
}

/// Returns how many bytes are needed to show these.
pub(super) fn cost(bytes: &[u8]) -> usize {
    if is_plain(bytes) {
        return bytes.len();
    }
    units(bytes).map(|unit| unit.shown).sum()
}

/// Returns how many of the first bytes fit into `room`, without splitting a character or an escape.
pub(super) fn fitting(bytes: &[u8], room: usize) -> usize {
    let mut left = room;
    let mut fitting = 0;
    for unit in units(bytes) {
        let Some(rest) = left.checked_sub(unit.shown) else {
            break;
        };
        left = rest;
        fitting += unit.bytes;
    }
    fitting
}

/// Returns how many of the last bytes fit into `room`, without splitting a character or an escape.
pub(super) fn fitting_end(bytes: &[u8], room: usize) -> usize {
    let mut shown = cost(bytes);
    let mut fitting = bytes.len();
    for unit in units(bytes) {
        if shown <= room {
            break;
        }
        shown -= unit.shown;
        fitting -= unit.bytes;
    }
    fitting
}

/// Returns the start of the character that contains `at`, or `at` itself if it is not inside a character.
pub(super) fn character_start(bytes: &[u8], at: usize) -> usize {
    let back = |n: &usize| {
        let begin = at.checked_sub(*n)?;
        let first = bytes.get(begin..)?.utf8_chunks().next()?;
        let c = first.valid().chars().next()?;
        (c.len_utf8() > *n).then_some(begin)
    };
    (1..4).find_map(|n| back(&n)).unwrap_or(at)
}

/// Appends the bytes to `text`. Returns whether any of them was escaped.
pub(super) fn show(bytes: &[u8], text: &mut String) -> bool {
    let mut escaped = false;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_shown_as_it_is(c) {
                text.push(c);
            } else {
                escaped = true;
                escape(c.encode_utf8(&mut [0; 4]).as_bytes(), text);
            }
        }
        escaped |= !chunk.invalid().is_empty();
        escape(chunk.invalid(), text);
    }
    escaped
}

fn escape(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "\\x{byte:02X}");
    }
}

/// Formats as many lines as fit into `room`.
pub(in crate::artifact) fn shown_lines(bytes: &[u8], room: usize) -> String {
    let mut text = String::new();
    for (n, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if n > 0 {
            if text.len() >= room {
                break;
            }
            text.push('\n');
        }
        let left = room - text.len();
        let fitting = fitting(line, left);
        show(line.get(..fitting).unwrap_or(line), &mut text);
        if fitting < line.len() {
            break;
        }
    }
    text
}
