//! Text for messages: shortened, escaped, on one line.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// Implements `Debug` with only these fields or methods.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_fields {
    ($type:ident $(<$lifetime:lifetime>)? { $($($field:ident).+),* }) => {
        impl ::std::fmt::Debug for $type $(<$lifetime>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(::std::stringify!($type))
                    $(.field(::std::stringify!($($field).+), &self.$($field).+))*
                    .finish_non_exhaustive()
            }
        }
    };
    ($type:ident { $($method:ident()),+ }) => {
        impl ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(::std::stringify!($type))
                    $(.field(::std::stringify!($method), &self.$method()))+
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Maximum number of characters of a quoted value.
pub(crate) const MAX_CHARS: usize = 80;

/// Returns a value as JSON, shortened, without characters that could rearrange the surrounding text.
pub fn quote(value: &Value) -> String {
    match value {
        // Only the start of a long string is examined.
        Value::String(text) => match text.char_indices().nth(MAX_CHARS) {
            Some((cut, _)) => {
                let front = Value::from(text.get(..cut).unwrap_or_default());
                escape(&format!("{front}…"), MAX_CHARS)
            }
            None => escape(&value.to_string(), MAX_CHARS),
        },
        Value::Array(items) if items.len() > MAX_CHARS => {
            format!("an array of {} items", items.len())
        }
        Value::Object(map) if map.len() > MAX_CHARS => {
            format!("an object of {} properties", map.len())
        }
        _ => escape(&value.to_string(), MAX_CHARS),
    }
}

/// Returns `text` shortened to about `most` characters. Invisible and bidirectional characters are written as
/// `\u{…}`.
pub fn escape(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most.saturating_mul(2)));
    let mut written = 0;
    for c in text.chars() {
        if written >= most {
            out.push('…');
            break;
        }
        if c.is_control() || is_invisible(c) {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            written += 8;
        } else {
            out.push(c);
            written += 1;
        }
    }
    out
}

/// Returns `true` if a character is invisible or changes how the surrounding text reads. A person who approves
/// something must not overlook such characters. Does not include control characters: see [`char::is_control`].
#[must_use]
pub fn is_invisible(c: char) -> bool {
    // Unicode 16.0, in this order: `Default_Ignorable_Code_Point` (DerivedCoreProperties.txt); the rest of the
    // general categories `Cf`, `Zl` and `Zp` (DerivedGeneralCategory.txt); noncharacters; and characters of other
    // categories with a blank glyph: object replacement, the empty braille pattern, hieroglyph blanks, the Khitan
    // filler, the musical null notehead.
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || matches!(c,
        '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{2028}'..='\u{2029}'
        | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}')
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
        || (u32::from(c) & 0xfffe) == 0xfffe
        || matches!(
            c,
            '\u{2800}' | '\u{fffc}' | '\u{13441}'..='\u{13442}' | '\u{16fe4}' | '\u{1d159}'
        )
}

/// Puts a text on one line and shortens it to at most this many bytes, cut at a character boundary. Marks the cut with `…`.
pub fn clip(text: &str, bytes: usize) -> String {
    let (text, mark) = if text.len() <= bytes {
        (text, "")
    } else {
        let cut = text.floor_char_boundary(bytes.saturating_sub(3));
        (text.get(..cut).unwrap_or(""), "…")
    };
    text.replace(char::is_control, " ") + mark
}

/// Returns at most this many bytes of a text, with a note about what was omitted.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.split_at(text.floor_char_boundary(most)) {
        (_, "") => Cow::Borrowed(text),
        (shown, omitted) => format!("{shown}… ({} more bytes omitted)", omitted.len()).into(),
    }
}

/// Formats a count with its noun, such as `3 nodes`, `3 keys` or `2 properties`.
pub fn counted(count: u64, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) if !stem.ends_with('e') => format!("{count} {stem}ies"),
        _ => format!("{count} {noun}s"),
    }
}
