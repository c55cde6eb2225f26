//! Removes excessive nesting before parsing.
//!
//! The parser checks every open quote, list item and footnote for every line, even for lines that only continue a paragraph. A
//! line of 100,000 `>` followed by 100,000 short lines would cost their product. A container cannot be deeper than the column of
//! its marker. So a marker too far to the right is turned into text by replacing one byte; all other bytes stay the same.

/// The first column at which a marker does not open a container.
const DEEPEST: usize = 200;

/// Escapes the first marker beyond the maximum column on every line. `None` if there is no such line.
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

/// Returns the position of the first marker beyond the maximum column. It is an ASCII character.
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

/// Returns the width of the marker at the start of the text, if there is one: of a quote, a bullet, a number, a task or a
/// footnote.
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
