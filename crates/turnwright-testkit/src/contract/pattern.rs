//! Regular expressions of a document, reversed to generate strings.

use regex::Regex;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};

use fastrand::Rng;

/// Multi-byte characters, used where a class contains them in every dialect.
const WIDE: [char; 4] = ['é', 'ü', '漢', '字'];

/// A pattern that all engines interpret in the same way.
#[derive(Debug)]
pub(crate) struct Pattern {
    hir: Hir,
    regex: Regex,
    /// Whether text around a match may break it.
    pub(crate) anchored: bool,
    /// Whether it has `\w` or another class that is ASCII in ECMAScript and Unicode elsewhere.
    pub(crate) has_classes: bool,
}

impl Pattern {
    /// Parses the pattern, or returns why it is not supported.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some(syntax) = dialect_syntax(text) {
            let why = "which engines interpret differently";
            return Err(format!("the pattern uses {syntax}, {why}"));
        }
        let unreadable = "the pattern cannot be parsed";
        let hir = regex_syntax::parse(text).map_err(|_| unreadable)?;
        let regex = Regex::new(text).map_err(|_| unreadable)?;
        let look = hir.properties().look_set();
        let classes = ["\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "\\b", "\\B"];
        Ok(Self {
            anchored: look.contains(Look::Start) || look.contains(Look::End),
            has_classes: classes.iter().any(|class| text.contains(class)),
            hir,
            regex,
        })
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns a matching text; `reach` is how far repetitions exceed their minimum.
    pub(crate) fn sample(&self, rng: &mut Rng, reach: usize) -> Option<String> {
        (0..20).find_map(|_| {
            let mut text = String::new();
            self.write(&self.hir, rng, reach, &mut text)?;
            self.matches(&text).then_some(text)
        })
    }

    fn write(&self, hir: &Hir, rng: &mut Rng, reach: usize, out: &mut String) -> Option<()> {
        if out.len() > 100_000 {
            return None;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).ok()?),
            HirKind::Class(Class::Unicode(class)) => out.push(self.character(class, rng)?),
            HirKind::Class(Class::Bytes(class)) => {
                out.push(char::from(class.ranges().first()?.start()));
            }
            HirKind::Repetition(repetition) => {
                let least = usize::try_from(repetition.min).ok()?;
                let most = usize::try_from(repetition.max.unwrap_or(u32::MAX)).ok()?;
                for _ in 0..rng.usize(least..=most.min(least.saturating_add(reach))) {
                    self.write(&repetition.sub, rng, reach, out)?;
                }
            }
            HirKind::Capture(capture) => self.write(&capture.sub, rng, reach, out)?,
            HirKind::Concat(parts) => {
                for part in parts {
                    self.write(part, rng, reach, out)?;
                }
            }
            HirKind::Alternation(branches) => self.write(rng.choice(branches)?, rng, reach, out)?,
        }
        Some(())
    }

    fn character(&self, class: &ClassUnicode, rng: &mut Rng) -> Option<char> {
        let ranges = class.ranges();
        let has = |c: &char| {
            ranges
                .iter()
                .any(|range| (range.start()..=range.end()).contains(c))
        };
        let wide: Vec<char> = WIDE.into_iter().filter(has).collect();
        if !wide.is_empty() && !self.has_classes && rng.usize(..6) == 0 {
            return rng.choice(&wide).copied();
        }
        let plain: Vec<char> = (' '..='~').filter(has).collect();
        if let Some(&c) = rng.choice(&plain) {
            return Some(c);
        }
        let range = rng.choice(ranges)?;
        let span = usize::try_from(u32::from(range.end()) - u32::from(range.start())).ok()?;
        let offset = u32::try_from(rng.usize(0..=span.min(50))).ok()?;
        char::from_u32(u32::from(range.start()) + offset).or(Some(range.start()))
    }
}

/// Syntax that ECMAScript and the engine used here interpret differently, without escapes.
const DIALECTS: [(&str, &str); 4] = [
    (r"\[\^?\]", "an empty class"),
    (r"\[[^\]]*\[", "a bracket inside a class"),
    (r"\[[^\]]*(&&|~~|--)", "a doubled sign inside a class"),
    (r"\(\?[^:<]", "a group with flags"),
];

fn dialect_syntax(text: &str) -> Option<&'static str> {
    let escapes = Regex::new(r"(?s)\\.?").ok()?;
    let is_own = |escape: &str| {
        let escaped = escape.chars().nth(1);
        escaped.is_none_or(|c| "AzZaQEU<>cGhHRK".contains(c))
    };
    if escapes
        .find_iter(text)
        .any(|escape| is_own(escape.as_str()))
    {
        return Some("an escape of its own dialect");
    }
    let plain = escapes.replace_all(text, "_");
    let uses = |pattern: &str| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&plain));
    let found = DIALECTS.iter().find(|(pattern, _)| uses(pattern));
    found.map(|(_, syntax)| *syntax)
}
