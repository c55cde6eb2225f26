//! Regular expressions of a document: matched, and turned around to make strings.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};

use super::rng::Rng;

/// Characters of several bytes, for classes so wide that every dialect has these in them.
const WIDE: [char; 4] = ['é', 'ü', '漢', '字'];

/// A pattern that this crate can read.
#[derive(Debug)]
pub(crate) struct Pattern {
    hir: Hir,
    regex: regex::Regex,
    anchored: bool,
    ascii_classes: bool,
}

impl Pattern {
    /// Reads the pattern, or says why not.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some(syntax) = dialect_of_its_own(text) {
            return Err(format!(
                "the pattern uses {syntax}, which engines read differently"
            ));
        }
        let hir = regex_syntax::parse(text).map_err(|_| "the pattern cannot be read".to_owned())?;
        let regex = regex::Regex::new(text).map_err(|_| "the pattern cannot be read".to_owned())?;
        let anchored = hir.properties().look_set().contains(Look::Start)
            || hir.properties().look_set().contains(Look::End);
        let ascii_classes = ["\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "\\b", "\\B"]
            .iter()
            .any(|class| text.contains(class));
        Ok(Self {
            hir,
            regex,
            anchored,
            ascii_classes,
        })
    }

    /// Whether the text matches. `\w` and its like mean ASCII in ECMAScript and Unicode elsewhere: nothing is said about
    /// other characters then.
    pub(crate) fn matches(&self, text: &str) -> Option<bool> {
        if !text.is_ascii() && self.ascii_classes {
            return None;
        }
        Some(self.regex.is_match(text))
    }

    /// A text that should match; `reach` is how far repetitions go beyond what they need.
    pub(crate) fn sample(&self, rng: &mut Rng, reach: usize) -> Option<String> {
        for _ in 0..20 {
            let mut text = String::new();
            if self.write(&self.hir, rng, reach, &mut text).is_some()
                && self.matches(&text) == Some(true)
            {
                return Some(text);
            }
        }
        None
    }

    /// Whether text may be put around a match without undoing it.
    pub(crate) fn is_anchored(&self) -> bool {
        self.anchored
    }

    fn write(&self, hir: &Hir, rng: &mut Rng, reach: usize, out: &mut String) -> Option<()> {
        if out.len() > 100_000 {
            return None;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Some(()),
            HirKind::Literal(literal) => {
                out.push_str(std::str::from_utf8(&literal.0).ok()?);
                Some(())
            }
            HirKind::Class(Class::Unicode(class)) => {
                out.push(self.character(class, rng)?);
                Some(())
            }
            HirKind::Class(Class::Bytes(class)) => {
                let range = class.ranges().first()?;
                out.push(char::from(range.start()));
                Some(())
            }
            HirKind::Repetition(repetition) => {
                let least = usize::try_from(repetition.min).ok()?;
                let most = repetition
                    .max
                    .and_then(|max| usize::try_from(max).ok())
                    .map_or(least.saturating_add(reach), |max| {
                        max.min(least.saturating_add(reach))
                    });
                for _ in 0..rng.between(least, most) {
                    self.write(&repetition.sub, rng, reach, out)?;
                }
                Some(())
            }
            HirKind::Capture(capture) => self.write(&capture.sub, rng, reach, out),
            HirKind::Concat(parts) => parts
                .iter()
                .try_for_each(|part| self.write(part, rng, reach, out)),
            HirKind::Alternation(branches) => {
                let branch = rng.pick(branches)?;
                self.write(branch, rng, reach, out)
            }
        }
    }

    fn character(&self, class: &ClassUnicode, rng: &mut Rng) -> Option<char> {
        let has = |c: char| {
            class
                .ranges()
                .iter()
                .any(|range| range.start() <= c && c <= range.end())
        };
        let wide = !self.ascii_classes && WIDE.iter().copied().any(has);
        if wide && rng.one_in(6) {
            let wide: Vec<char> = WIDE.iter().copied().filter(|&c| has(c)).collect();
            return rng.pick(&wide).copied();
        }
        let plain: Vec<char> = (' '..='~').filter(|&c| has(c)).collect();
        if let Some(&c) = rng.pick(&plain) {
            return Some(c);
        }
        let range = rng.pick(class.ranges())?;
        let span = usize::try_from(u32::from(range.end()) - u32::from(range.start())).ok()?;
        let offset = u32::try_from(rng.between(0, span.min(50))).ok()?;
        char::from_u32(u32::from(range.start()) + offset).or(Some(range.start()))
    }
}

/// Syntax that means one thing in ECMAScript and another, or nothing, to the engine used here.
fn dialect_of_its_own(text: &str) -> Option<&'static str> {
    let mut in_class = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match c {
            '\\' => {
                match next {
                    Some(
                        'A' | 'z' | 'Z' | 'a' | 'Q' | 'E' | 'U' | '<' | '>' | 'c' | 'G' | 'h' | 'H'
                        | 'R' | 'K',
                    ) => {
                        return Some("an escape of its own dialect");
                    }
                    Some(_) => {}
                    None => return Some("a trailing backslash"),
                }
                chars.next();
            }
            '[' if in_class => return Some("a bracket inside a class"),
            '[' => {
                in_class = true;
                if next == Some('^') {
                    chars.next();
                }
                if chars.peek() == Some(&']') {
                    return Some("an empty class");
                }
            }
            ']' => in_class = false,
            '&' | '~' | '-' if in_class && next == Some(c) => {
                return Some("a doubled sign inside a class");
            }
            '(' if !in_class && next == Some('?') => {
                chars.next();
                if !matches!(chars.peek(), Some(':' | '<')) {
                    return Some("a group with flags");
                }
            }
            _ => {}
        }
    }
    None
}
