//! Bytes as a model and a terminal may see them: UTF-8 as it is, everything else as `\xNN`.

use std::fmt::Write as _;

/// Said once in an answer that shows something in another form.
pub(super) const NOTE: &str = "bytes that are not printable UTF-8 are shown as \\xNN";

/// What is shown as one: a character, or a byte that is none.
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

/// Whether all of them are shown as they are, which is what most lines are.
fn is_plain(bytes: &[u8]) -> bool {
    let plain = |byte: &u8| (0x20..0x7F).contains(byte) || *byte == b'\t';
    bytes.iter().all(plain)
}

/// How many bytes it takes to show these.
pub(super) fn cost(bytes: &[u8]) -> usize {
    if is_plain(bytes) {
        return bytes.len();
    }
    units(bytes).map(|unit| unit.shown).sum()
}

/// How many of the first bytes can be shown in `room`, without splitting a character or an escape.
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

/// How many of the last bytes can be shown in `room`, without splitting a character or an escape.
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

/// The place of the character that `at` lies in, or `at` itself if it lies in none.
pub(super) fn character_start(bytes: &[u8], at: usize) -> usize {
    let back = |n: &usize| {
        let begin = at.checked_sub(*n)?;
        let first = bytes.get(begin..)?.utf8_chunks().next()?;
        let c = first.valid().chars().next()?;
        (c.len_utf8() > *n).then_some(begin)
    };
    (1..4).find_map(|n| back(&n)).unwrap_or(at)
}

/// Appends them to `text`, and says whether something had to be shown in another form.
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

/// The lines as they are shown, as far as they fit into `room`.
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
