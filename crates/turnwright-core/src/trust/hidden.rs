//! Removes characters that a person does not see but a model reads.

use std::borrow::Cow;

/// The flags of England, Scotland and Wales, without the black flag that they begin with. Other sequences of tag characters are
/// not recommended by Unicode, and not shown.
const FLAGS: &[&str] = &[
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

const BLACK_FLAG: char = '\u{1f3f4}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Removes characters that are not shown, so that content cannot contain text that a model reads and a person does not see:
///
/// - control characters, except line feed, carriage return and tab
/// - overrides, embeddings and isolates of the text direction
/// - Unicode tags, except in the flags of England, Scotland and Wales
/// - zero width spaces, word joiners, byte order marks, invisible operators, soft hyphens, interlinear annotations and noncharacters
///
/// Scripts and emoji need joiners, variation selectors and direction marks. These are kept one at a time: a joiner or a variation
/// selector after a character to which it can apply, a direction mark after anything but such a character. All others are removed,
/// because a sequence of them can encode text.
///
/// Idempotent. Runs in linear time.
///
/// ```
/// use turnwright_core::trust::remove_hidden;
///
/// assert_eq!(remove_hidden("all\u{200b} good\u{e0041}\u{1b}[8m"), "all good[8m");
/// assert_eq!(remove_hidden("می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}"), "می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}");
/// ```
#[must_use]
pub fn remove_hidden(text: &str) -> Cow<'_, str> {
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    // What is kept but not copied yet begins here.
    let mut from = 0;
    let mut before = None;
    let mut flag_end = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let is_kept = match Visibility::of(c) {
            Visibility::Shown => true,
            Visibility::Modifier => modifies(before, c),
            Visibility::DirectionMark => !before.is_some_and(is_conditional),
            Visibility::Hidden => end <= flag_end,
        };
        if is_kept {
            before = Some(c);
        } else {
            shown.push_str(text.get(from..at).unwrap_or_default());
            from = end;
        }
        if c == BLACK_FLAG {
            let rest = text.get(end..).unwrap_or_default();
            let flag = FLAGS.iter().find(|flag| rest.starts_with(**flag));
            flag_end = flag.map_or(flag_end, |flag| end + flag.len());
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(shown)
}

enum Visibility {
    /// It is shown, or takes up space.
    Shown,
    /// It changes how the character before it is shown, or joins it with the next one.
    Modifier,
    /// It has a direction and nothing else.
    DirectionMark,
    Hidden,
}

impl Visibility {
    fn of(c: char) -> Self {
        match c {
            '\n' | '\r' | '\t' => Visibility::Shown,
            '\u{200e}' | '\u{200f}' | '\u{61c}' => Visibility::DirectionMark,
            // Joiners; variation selectors, also those of Mongolian; format characters of single scripts.
            '\u{200c}'
            | ZERO_WIDTH_JOINER
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0100}'..='\u{e01ef}' => Visibility::Modifier,
            '\u{34f}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' => Visibility::Modifier,
            '\u{ad}'
            | '\u{200b}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
            | '\u{fdd0}'..='\u{fdef}' => Visibility::Hidden,
            c if c.is_control() || u32::from(c) & 0xfffe == 0xfffe => Visibility::Hidden,
            _ => Visibility::Shown,
        }
    }
}

/// Returns whether a character is kept only in some places.
fn is_conditional(c: char) -> bool {
    matches!(
        Visibility::of(c),
        Visibility::Modifier | Visibility::DirectionMark
    )
}

/// Returns whether a modifier can apply to the character before it.
fn modifies(before: Option<char>, modifier: char) -> bool {
    match (before, modifier) {
        (None, _) => false,
        // Emoji that begin with an ASCII character, such as `1️⃣`.
        (Some('0'..='9' | '#' | '*'), '\u{fe0e}' | '\u{fe0f}') => true,
        // Emoji that consist of others, such as `❤️‍🔥`.
        (Some('\u{fe0f}'), ZERO_WIDTH_JOINER) => true,
        (Some(before), _) => !before.is_ascii() && !is_conditional(before),
    }
}

/// Returns whether a byte is a visible ASCII character or white space.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
mod tests;
