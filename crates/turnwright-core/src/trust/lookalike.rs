//! Characters that look like letters of a tag name, or are invisible.

use super::neutralise::MARKER;

/// What a character looks like in the search for tag names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// A letter, in lower case. Not necessarily one that occurs in a tag name.
    Letter(u8),
    /// A hyphen, or a character that looks like one.
    Dash,
    /// The soft hyphen. Some show it as a hyphen, others not at all.
    SoftDash,
    /// Nothing: a control or format character, or a combining mark.
    Nothing,
    /// Anything else.
    Other,
}

/// Returns what a decomposed character looks like.
pub(super) fn looks(c: char) -> Looks {
    match c {
        'a'..='z' | 'A'..='Z' => Looks::Letter((c as u8).to_ascii_lowercase()),
        '-' | '_' => Looks::Dash,
        // Decoding escapes removes it: `tw\-agent` is a plain hyphen in Markdown.
        '\\' => Looks::Nothing,
        '\u{AD}' => Looks::SoftDash,
        // Ignored, so that names that were neutralised are found again.
        MARKER => Looks::Nothing,
        '\0'..='\x1F' | '\x7F' => Looks::Nothing,
        ' '..='~' => Looks::Other,
        _ => looks_beyond_ascii(c),
    }
}

fn looks_beyond_ascii(c: char) -> Looks {
    if is_invisible(c) || is_mark(c) {
        Looks::Nothing
    } else if DASHES.binary_search(&c).is_ok() {
        Looks::Dash
    } else {
        letter(c).map_or(Looks::Other, Looks::Letter)
    }
}

/// Returns whether a character is invisible, such as a control character.
pub(super) fn is_invisible(c: char) -> bool {
    c.is_control() || crate::schema::is_invisible(c)
}

/// Returns whether a character is a combining mark.
pub(super) fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Characters that Unicode classifies as dashes, and those that confusables.txt (Unicode 16.0) lists as confusable with a hyphen,
/// an em dash, an underscore or a macron, after decomposition. Sorted.
const DASHES: &[char] = &[
    '¯', 'ˉ', 'ˍ', '˗', '֊', '־', '۔', 'ߺ', 'ᅳ', '᐀', 'ᐨ', '᠆', '‐', '‑', '‒', '–', '—', '―', '‗',
    '‾', '⁃', '−', '⎯', '⎺', '⎻', '⎼', '⎽', '⏤', '─', '━', '╌', '╍', '╴', '╸', '▁', '➖', 'Ⲻ', 'ⲻ',
    'ⵧ', '⸗', '⸚', '⸺', '⸻', '⹀', '⹝', '〜', '〰', '゠', 'ー', '㇐', '一', 'ꟷ', '𐺭',
];

/// Returns the letter that a character looks like without decomposing to it: letters of other scripts, small capitals, letters
/// with a stroke. Only the letters of our tag names are covered.
fn letter(c: char) -> Option<u8> {
    Some(match c {
        'а' | 'А' | 'α' | 'Α' | 'ɑ' | 'Ɑ' | 'ᴀ' | 'Ꭺ' | 'ꭺ' | 'ᗅ' | 'ꓮ' | '⍺' | 'ⱥ' | 'Ⱥ' | 'ª' => {
            b'a'
        }
        'ԁ' | 'ᴅ' | 'Ꭰ' | 'ꭰ' | 'Ꮷ' | 'ᑯ' | 'ᗞ' | 'ᗪ' | 'ꓓ' | 'ꓒ' | 'đ' | 'Đ' | 'Ð' | 'ð' | 'Ɖ'
        | 'ɖ' | 'ɗ' | 'Ɗ' | 'ƌ' => b'd',
        'е' | 'Е' | 'є' | 'Є' | 'ҽ' | 'ε' | 'Ε' | 'ɛ' | 'ᴇ' | 'ꬲ' | '℮' | 'ⴹ' | 'Ꭼ' | 'ꭼ' | 'ꓰ'
        | '⋿' | 'ɇ' | 'Ɇ' => b'e',
        'ɡ' | 'ց' | 'ƍ' | 'ɢ' | 'ᶃ' | 'Ԍ' | 'ԍ' | 'Ꮐ' | 'ꮐ' | 'Ᏻ' | 'ꓖ' | 'ǥ' | 'Ǥ' | 'ɠ' => {
            b'g'
        }
        'ո' | 'ռ' | 'п' | 'η' | 'Ν' | 'ɴ' | 'ꓠ' | 'Ⲛ' | 'ⲛ' | 'ƞ' | 'ɲ' | 'ŋ' | 'ɳ' => {
            b'n'
        }
        'г' | 'ꭇ' | 'ꭈ' | 'ᴦ' | 'ⲅ' | 'ꮁ' | 'ʀ' | 'Ʀ' | 'Ꭱ' | 'ꭱ' | 'Ꮢ' | 'ꮢ' | 'ᖇ' | 'ꓣ' | 'ɼ'
        | 'ɽ' | 'ɍ' | 'Ɍ' => b'r',
        'ѕ' | 'Ѕ' | 'ꜱ' | 'ƽ' | 'ꮪ' | 'Տ' | 'Ꮥ' | 'Ꮪ' | 'ꓢ' | 'ʂ' => b's',
        'т' | 'Т' | 'τ' | 'Τ' | 'ᴛ' | 'ꓔ' | 'Ꭲ' | 'ꭲ' | 'ⲧ' | 'Ⲧ' | 'ŧ' | 'Ŧ' | 'ƫ' | 'ƭ' | 'ʈ'
        | 'ꞇ' | '⊤' | '⟙' | '†' => b't',
        'υ' | 'ս' | 'ʋ' | 'ᴜ' | 'ꞟ' | 'ꭎ' | 'ꭒ' | 'Ս' | 'ሀ' | 'ᑌ' | 'ꓴ' | '∪' | '⋃' | 'μ' | 'ʉ'
        | 'Ʉ' => b'u',
        'ԝ' | 'Ԝ' | 'ѡ' | 'Ѡ' | 'ѽ' | 'ա' | 'ɯ' | 'ᴡ' | 'ꮃ' | 'Ꮃ' | 'Ꮤ' | 'ꮤ' | 'ꓪ' | 'ω' | 'ш'
        | 'ⱳ' => b'w',
        _ => return None,
    })
}

/// Calls `part` for each part of the compatibility decomposition. For letters in circles, squares and brackets, that is the
/// letter.
pub(super) fn for_each_part(c: char, mut part: impl FnMut(char)) {
    let alphabet_from = |first: char| {
        let letter = u32::from('a') + (u32::from(c) - u32::from(first));
        char::from_u32(letter).unwrap_or(c)
    };
    match c {
        '\u{249C}'..='\u{24B5}' => part(alphabet_from('\u{249C}')),
        '\u{1F110}'..='\u{1F129}' => part(alphabet_from('\u{1F110}')),
        '\u{1F150}'..='\u{1F169}' => part(alphabet_from('\u{1F150}')),
        '\u{1F170}'..='\u{1F189}' => part(alphabet_from('\u{1F170}')),
        '\u{1F1E6}'..='\u{1F1FF}' => part(alphabet_from('\u{1F1E6}')),
        // These decompose to a space with a line above or below.
        '¯' | '‾' | '‗' => part(c),
        _ => unicode_normalization::char::decompose_compatible(c, part),
    }
}

#[cfg(test)]
mod tests;
