//! Converts JSON5 to JSON: removes comments, puts double quotes around keys and strings, and normalises numbers. The result is
//! parsed as JSON with its limits. Nothing here is recursive.

use std::fmt::Write as _;

use super::path::shorten;

/// Maximum nesting depth, the same as for JSON.
const DEEPEST: usize = 128;

/// Converts JSON5 to JSON. Line numbers stay the same.
///
/// # Errors
/// Returns a message with the line of the error. Lines start at 0.
pub(super) fn to_json(text: &str) -> Result<String, String> {
    let mut writer = Rewriter {
        text,
        at: 0,
        json: String::with_capacity(text.len() + text.len() / 8),
        inside: Vec::new(),
        last: Last::Nothing,
    };
    match writer.run() {
        Ok(()) => Ok(writer.json),
        Err(message) => {
            let before = text.bytes().take(writer.at);
            let line = before.filter(|byte| *byte == b'\n').count();
            Err(format!("{message} at line {line}"))
        }
    }
}

/// The previous token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Open,
    /// A comma that is written only if a value or key follows.
    Comma,
    Colon,
    Value,
}

struct Rewriter<'t> {
    text: &'t str,
    at: usize,
    json: String,
    /// The open brackets.
    inside: Vec<char>,
    last: Last,
}

impl<'t> Rewriter<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.peek() {
            let blank = c.is_whitespace() || c == '\u{feff}';
            // Write the pending comma only before a value or a key.
            if self.last == Last::Comma && !blank && !matches!(c, '/' | '}' | ']' | ',' | ':') {
                self.json.push(',');
            }
            self.last = match c {
                '\n' => {
                    self.copy(c);
                    self.last
                }
                c if blank => {
                    self.at += c.len_utf8();
                    self.json.push(' ');
                    self.last
                }
                '/' => self.comment()?,
                '{' | '[' => {
                    self.inside.push(c);
                    if self.inside.len() > DEEPEST {
                        return Err(format!("it is nested more than {DEEPEST} levels deep"));
                    }
                    self.copy(c);
                    Last::Open
                }
                // The JSON parser checks that brackets match.
                '}' | ']' => {
                    self.inside.pop();
                    self.copy(c);
                    Last::Value
                }
                ',' if self.last == Last::Value => {
                    self.at += 1;
                    Last::Comma
                }
                ',' => return Err("unexpected comma".to_owned()),
                ':' => {
                    self.copy(c);
                    Last::Colon
                }
                '"' | '\'' => self.string(c)?,
                '+' | '-' | '.' | '0'..='9' => self.number()?,
                _ => self.word()?,
            };
        }
        if self.last == Last::Comma {
            return Err("unexpected comma at the end".to_owned());
        }
        Ok(())
    }

    fn copy(&mut self, c: char) {
        self.at += c.len_utf8();
        self.json.push(c);
    }

    fn wants_key(&self) -> bool {
        self.inside.last() == Some(&'{') && matches!(self.last, Last::Open | Last::Comma)
    }

    fn comment(&mut self) -> Result<Last, String> {
        let rest = self.rest();
        let len = if rest.starts_with("//") {
            let ends = ['\n', '\r', '\u{2028}', '\u{2029}'];
            rest.find(ends).unwrap_or(rest.len())
        } else if let Some(inner) = rest.strip_prefix("/*") {
            let end = inner.find("*/").ok_or("unclosed comment")?;
            end + 4
        } else {
            return Err("unexpected `/`".to_owned());
        };
        // Keep the neighbouring tokens separate and the line numbers unchanged.
        self.json.push(' ');
        let comment = rest.get(..len).unwrap_or("");
        self.json.extend(comment.chars().filter(|c| *c == '\n'));
        self.at += len;
        Ok(self.last)
    }

    fn string(&mut self, quote: char) -> Result<Last, String> {
        let mut chars = self.rest().char_indices();
        chars.next();
        self.json.push('"');
        let mut lines = 0;
        while let Some((place, c)) = chars.next() {
            match c {
                _ if c == quote => {
                    self.json.push('"');
                    self.json.extend((0..lines).map(|_| '\n'));
                    self.at += place + 1;
                    return Ok(Last::Value);
                }
                '\n' | '\r' => return Err("unclosed string".to_owned()),
                '\\' => {
                    let Some((_, escaped)) = chars.next() else {
                        break;
                    };
                    let rest = chars.as_str();
                    let next = rest.chars().next();
                    match escaped {
                        // A line continuation.
                        '\n' => lines += 1,
                        '\r' => {
                            if next == Some('\n') {
                                chars.next();
                                lines += 1;
                            }
                        }
                        '\u{2028}' | '\u{2029}' => {}
                        // Escapes that JSON has too, including halves of surrogate pairs.
                        'b' | 'f' | 'n' | 'r' | 't' | 'u' | '\\' | '"' => {
                            self.json.push('\\');
                            self.json.push(escaped);
                        }
                        'v' => self.json.push_str("\\u000b"),
                        '0' if !next.is_some_and(|c| c.is_ascii_digit()) => {
                            self.json.push_str("\\u0000");
                        }
                        'x' => {
                            let digits = rest.get(..2).filter(|digits| is_hexadecimal(digits));
                            let digits =
                                digits.ok_or("`\\x` must be followed by two hex digits")?;
                            self.json.push_str("\\u00");
                            self.json.push_str(digits);
                            chars.nth(1);
                        }
                        '0'..='9' => return Err("a digit cannot follow a backslash".to_owned()),
                        c => self.plain(c),
                    }
                }
                c => self.plain(c),
            }
        }
        Err("unclosed string".to_owned())
    }

    /// Writes a character of a string.
    fn plain(&mut self, c: char) {
        match c {
            '"' => self.json.push_str("\\\""),
            // Writing to a string cannot fail.
            '\0'..='\x1f' => _ = write!(self.json, "\\u{:04x}", u32::from(c)),
            c => self.json.push(c),
        }
    }

    fn number(&mut self) -> Result<Last, String> {
        let rest = self.rest();
        let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let end =
            unsigned.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-')));
        let token = unsigned.get(..end.unwrap_or(unsigned.len())).unwrap_or("");
        if matches!(token, "Infinity" | "NaN") {
            return Err(no_value(token));
        }
        if rest.starts_with('-') {
            self.json.push('-');
        }
        if let Some(digits) = token
            .strip_prefix("0x")
            .or_else(|| token.strip_prefix("0X"))
        {
            self.json.push_str(&hexadecimal(digits)?);
        } else {
            self.json.push_str(&decimal(token)?);
        }
        self.at += rest.len() - unsigned.len() + token.len();
        Ok(Last::Value)
    }

    fn word(&mut self) -> Result<Last, String> {
        let rest = self.rest();
        let part = |c: char| {
            c.is_alphanumeric()
                || matches!(c, '$' | '_' | '\\')
                || !c.is_ascii() && !c.is_whitespace()
        };
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or("");
        if word.is_empty() {
            let found = self.peek().unwrap_or(' ').escape_debug();
            return Err(format!("unexpected `{found}`"));
        }
        if self.wants_key() {
            // Escapes in names are the same as in JSON. The JSON parser reports invalid ones.
            self.json.push('"');
            self.json.push_str(word);
            self.json.push('"');
        } else {
            match word {
                "true" | "false" | "null" => self.json.push_str(word),
                "NaN" | "Infinity" => return Err(no_value(word)),
                _ => {
                    let word = crate::schema::escape(word, 40);
                    return Err(format!("`{word}` needs quotes"));
                }
            }
        }
        self.at += word.len();
        Ok(Last::Value)
    }
}

fn no_value(word: &str) -> String {
    format!("`{word}` is not a JSON value, so the document cannot be queried")
}

fn no_number(token: &str) -> String {
    format!("`{}` is not a number", shorten(token, 40))
}

/// Adds the digit that JSON requires before and after a decimal point.
fn decimal(token: &str) -> Result<String, String> {
    if !token.bytes().take(2).any(|byte| byte.is_ascii_digit()) {
        return Err(no_number(token));
    }
    let mut number = token.to_owned();
    if number.starts_with('.') {
        number.insert(0, '0');
    }
    if let Some((_, fraction)) = number.split_once('.')
        && !fraction.starts_with(|c: char| c.is_ascii_digit())
    {
        number.insert(number.len() - fraction.len(), '0');
    }
    Ok(number)
}

fn is_hexadecimal(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn hexadecimal(digits: &str) -> Result<String, String> {
    let no_number = || no_number(&format!("0x{digits}"));
    if digits.is_empty() || !is_hexadecimal(digits) {
        return Err(no_number());
    }
    if let Ok(exact) = u64::from_str_radix(digits, 16) {
        return Ok(exact.to_string());
    }
    let value = digits.chars().fold(0.0, |value: f64, digit| {
        value * 16.0 + f64::from(digit.to_digit(16).unwrap_or(0))
    });
    if value.is_finite() {
        Ok(format!("{value:?}"))
    } else {
        Err(no_number())
    }
}
