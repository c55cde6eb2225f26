//! Nesting that nobody writes, taken out before it is parsed.
//!
//! The parser asks every open quote, list item and footnote about every line, also about lines that merely go on with a
//! paragraph: a line of 100,000 `>` before 100,000 short ones would cost their product. No container can be deeper than
//! the column of its marker, so a marker too far to the right is made text, by one byte, and all other bytes stay in place.

/// The column from which a marker opens nothing any more.
const DEEPEST: usize = 200;

/// The text with every line's first marker beyond the deepest column escaped, if there is such a line.
pub(super) fn flattened(text: &str) -> Option<String> {
    let mut flat = String::new();
    let mut taken = 0;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(at) = too_deep(line.as_bytes()) {
            flat.push_str(text.get(taken..start + at).unwrap_or(""));
            flat.push('\\');
            taken = start + at + 1;
        }
        start += line.len();
    }
    if taken == 0 {
        return None;
    }
    flat.push_str(text.get(taken..).unwrap_or(""));
    Some(flat)
}

/// Where the first marker beyond the deepest column stands: an ASCII character.
fn too_deep(line: &[u8]) -> Option<usize> {
    if line.len() <= DEEPEST / 4 {
        return None;
    }
    let (mut at, mut column) = (0, 0);
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let width = match rest {
            [b' ', ..] => 1,
            [b'\t', ..] => {
                column += 3 - column % 4;
                1
            }
            _ => match marker(rest) {
                Some(_) if column >= DEEPEST => return Some(at),
                Some(width) => width,
                None => return None,
            },
        };
        at += width;
        column += width;
    }
    None
}

/// How wide the marker is that begins here, if one does: of a quote, a bullet, a number, a task or a footnote.
fn marker(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'>', ..] => Some(1),
        [b'-' | b'+' | b'*', after @ ..] => blank(after).then_some(1),
        [b'0'..=b'9', ..] => {
            let digits = rest
                .iter()
                .take(10)
                .take_while(|byte| byte.is_ascii_digit());
            let digits = digits.count();
            match rest.get(digits..) {
                Some([b'.' | b')', after @ ..]) if digits < 10 && blank(after) => Some(digits + 1),
                _ => None,
            }
        }
        [b'[', b' ' | b'x' | b'X', b']', after @ ..] => blank(after).then_some(3),
        [b'[', b'^', label @ ..] => {
            let end = label.iter().position(|byte| *byte == b']')?;
            (label.get(end + 1) == Some(&b':')).then_some(end + 4)
        }
        _ => None,
    }
}

fn blank(rest: &[u8]) -> bool {
    matches!(rest, [] | [b' ' | b'\t' | b'\r' | b'\n', ..])
}
