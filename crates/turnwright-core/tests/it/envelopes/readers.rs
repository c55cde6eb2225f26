//! Simple readers that decode disguises in their own ways and search for our tag names.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Finds a tag name in a text, ignoring case.
pub(super) fn tag_name(reading: &str) -> Option<&'static str> {
    let lower = reading.to_ascii_lowercase();
    ["tw-trusted", "tw-untrusted", "tw-agent", "tw-sender"]
        .into_iter()
        .find(|name| lower.contains(name))
}

/// The prompt as it is, as it looks, and after every second of some orders of decoding, until nothing is left to decode. The next
/// case uses the other orders.
pub(super) fn readings(prompt: &str, case: u64) -> Vec<(&'static str, String)> {
    type Step = fn(&str) -> String;
    const ORDERS: [(&str, [Step; 3]); 4] = [
        ("HTML first", [html, percent, json]),
        ("percent first", [percent, json, html]),
        ("JSON first", [json, html, percent]),
        ("as it looks first", [plain, html, plain]),
    ];
    let mut seen = HashSet::new();
    let mut all = vec![
        ("as it is", prompt.to_owned()),
        ("as it looks", plain(prompt)),
    ];
    for (order, steps) in ORDERS.into_iter().skip((case / 2 % 2) as usize).step_by(2) {
        let mut text = prompt.to_owned();
        for _ in 0..4 {
            let before = text.clone();
            for step in steps {
                text = step(&text);
            }
            if text == before || !seen.insert(text.clone()) {
                break;
            }
            all.push((order, plain(&text)));
        }
    }
    all
}

/// Normalises to compatibility form, one kind of dash, and no invisible characters.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '_' => out.push('-'),
            ' '..='~' => out.push(c),
            _ if c.is_control() => {}
            // The order of marks does not matter, since they are removed.
            _ => out.extend(
                std::iter::once(c)
                    .nfkd()
                    .filter(|part| !is_combining_mark(*part) && !is_invisible(*part))
                    .map(plain_part),
            ),
        }
    }
    out
}

fn plain_part(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{1173}' | '\u{31D0}' | '_' => '-',
        'т' | 'Т' => 't',
        'а' => 'a',
        'е' => 'e',
        'ѕ' => 's',
        'ԁ' => 'd',
        'ո' => 'n',
        'ս' => 'u',
        'ԝ' => 'w',
        _ => c,
    }
}

fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0xAD | 0x61C | 0x115F | 0x1160 | 0x2800 | 0x3164 | 0xFEFF | 0xFFA0 | 0x1D159
        )
        || matches!(u32::from(c), 0x180B..=0x180F | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F)
        || matches!(u32::from(c), 0xFE00..=0xFE0F | 0xE0000..=0xE0FFF)
}

/// Decodes HTML references once, from left to right.
fn html(text: &str) -> String {
    const NAMED: [(&str, &str); 9] = [
        ("amp", "&"),
        ("lt", "<"),
        ("gt", ">"),
        ("quot", "\""),
        ("shy", "\u{AD}"),
        ("zwj", "\u{200D}"),
        ("ZeroWidthSpace", "\u{200B}"),
        ("hyphen", "\u{2010}"),
        ("lowbar", "_"),
    ];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        rest = after;
        let number = after
            .strip_prefix('#')
            .map(|digits| match digits.strip_prefix(['x', 'X']) {
                Some(digits) => (digits, 16),
                None => (digits, 10),
            });
        if let Some((digits, radix)) = number {
            let end = digits
                .find(|c: char| !c.is_digit(radix))
                .unwrap_or(digits.len());
            if end > 0 {
                let code = u32::from_str_radix(&digits[..end], radix).unwrap_or(0xFFFD);
                out.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
                rest = digits[end..].strip_prefix(';').unwrap_or(&digits[end..]);
                continue;
            }
        }
        // As in HTML, legacy names need no semicolon; the others do.
        let named = |(name, _): &&(&str, &str)| {
            let old = matches!(*name, "amp" | "lt" | "gt" | "quot" | "shy");
            let ends = |rest: &str| old || rest.starts_with(';');
            after.strip_prefix(name).is_some_and(ends)
        };
        if let Some((name, stands_for)) = NAMED.iter().find(named) {
            out.push_str(stands_for);
            rest = after[name.len()..]
                .strip_prefix(';')
                .unwrap_or(&after[name.len()..]);
        } else {
            out.push('&');
        }
    }
    out + rest
}

/// Decodes percent-encoding once.
fn percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut pieces = text.split('%');
    bytes.extend(pieces.next().unwrap_or_default().bytes());
    for piece in pieces {
        match piece.get(..2).and_then(hex) {
            Some(code) => {
                bytes.push(code as u8);
                bytes.extend(piece[2..].bytes());
            }
            None => {
                bytes.push(b'%');
                bytes.extend(piece.bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Decodes `\u0074` and `\x74` once.
fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        rest = after;
        let digits = match after.as_bytes().first() {
            Some(b'u') => after.get(1..5),
            Some(b'x') => after.get(1..3),
            _ => None,
        };
        match digits.and_then(|digits| Some((digits.len(), hex(digits)?))) {
            Some((length, code)) => {
                out.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
                rest = &after[1 + length..];
            }
            None => out.push('\\'),
        }
    }
    out + rest
}

fn hex(digits: &str) -> Option<u32> {
    let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all_hex
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}
