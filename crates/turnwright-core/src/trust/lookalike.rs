//! Characters that pass for the letters of a tag's name, or that nobody sees.

use super::neutralise::MARKER;

/// What a character is to a search for tag names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// One of the letters, in lower case; not always one that a name has.
    Letter(u8),
    /// A hyphen, or something that passes for one.
    Dash,
    /// The soft hyphen: shown as a hyphen by some, as nothing by others.
    SoftDash,
    /// Nothing at all: a control or format character, a mark over another one.
    Nothing,
    /// Anything else.
    Other,
}

/// What a character looks like, after it was decomposed.
pub(super) fn looks(c: char) -> Looks {
    match c {
        'a'..='z' | 'A'..='Z' => Looks::Letter((c as u8).to_ascii_lowercase()),
        '-' | '_' => Looks::Dash,
        // Nothing is left of it where escapes are read: `tw\-agent` is how Markdown writes a plain hyphen.
        '\\' => Looks::Nothing,
        '\u{AD}' => Looks::SoftDash,
        // Else what was neutralised would not be found again.
        MARKER => Looks::Nothing,
        '\0'..='\x1F' | '\x7F' => Looks::Nothing,
        ' '..='~' => Looks::Other,
        _ => looks_beyond_ascii(c),
    }
}

fn looks_beyond_ascii(c: char) -> Looks {
    if is_unseen(c) || is_mark(c) {
        Looks::Nothing
    } else if DASHES.binary_search(&c).is_ok() {
        Looks::Dash
    } else {
        letter(c).map_or(Looks::Other, Looks::Letter)
    }
}

/// Control characters, and whatever else is not seen.
pub(super) fn is_unseen(c: char) -> bool {
    c.is_control() || crate::schema::is_unseen(c)
}

/// Accents and all else that is written over, under or around another character.
pub(super) fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// The characters that Unicode counts as dashes, and those that confusables.txt (Unicode 16.0) counts as confusable with a
/// hyphen, an em dash, an underscore or a macron: as they are once they are decomposed. Sorted.
const DASHES: &[char] = &[
    '¯', 'ˉ', 'ˍ', '˗', '֊', '־', '۔', 'ߺ', 'ᅳ', '᐀', 'ᐨ', '᠆', '‐', '‑', '‒', '–', '—', '―', '‗',
    '‾', '⁃', '−', '⎯', '⎺', '⎻', '⎼', '⎽', '⏤', '─', '━', '╌', '╍', '╴', '╸', '▁', '➖', 'Ⲻ', 'ⲻ',
    'ⵧ', '⸗', '⸚', '⸺', '⸻', '⹀', '⹝', '〜', '〰', '゠', 'ー', '㇐', '一', 'ꟷ', '𐺭',
];

/// The letter that a character passes for without decomposing to it: of other scripts, small capitals, with a stroke.
/// Only the letters of our own names matter.
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

/// The parts that a character stands for, by compatibility; of letters in circles, squares and brackets the letter.
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
        // They decompose to a space with a line above or below.
        '¯' | '‾' | '‗' => part(c),
        _ => unicode_normalization::char::decompose_compatible(c, part),
    }
}

#[cfg(test)]
mod tests;
