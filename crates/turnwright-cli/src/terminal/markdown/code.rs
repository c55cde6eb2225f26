//! Code with syntax highlighting, in the sixteen colours of the terminal: these fit light and dark themes.

use std::sync::LazyLock;

use anstyle::{AnsiColor, Style};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use super::spans::Span;
use crate::terminal::flow::columns_of;
use crate::terminal::{plain, style};

/// Before each line.
const INDENT: &str = "  ";
/// The longest line that is highlighted. Patterns may take long for others.
const MAX_LEN: usize = 2_000;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// The style of a scope, by its prefix. The innermost scope that has a style decides.
static STYLES: LazyLock<Vec<(Scope, Style)>> = LazyLock::new(|| {
    let colour = |colour: AnsiColor| colour.on_default();
    let styles = [
        ("comment", style::DIM),
        ("string", colour(AnsiColor::Green)),
        ("constant", colour(AnsiColor::Yellow)),
        ("keyword.operator", Style::new()),
        ("keyword", colour(AnsiColor::Magenta)),
        ("storage", colour(AnsiColor::Magenta)),
        ("entity.name.function", colour(AnsiColor::Blue)),
        ("entity.name.tag", colour(AnsiColor::Blue)),
        ("entity.name", colour(AnsiColor::Cyan)),
        ("entity.other.attribute-name", colour(AnsiColor::Cyan)),
        ("support", colour(AnsiColor::Cyan)),
        ("markup.inserted", colour(AnsiColor::Green)),
        ("markup.deleted", colour(AnsiColor::Red)),
        ("markup.heading", style::BOLD),
        ("invalid", colour(AnsiColor::Red)),
    ];
    let styles = styles.into_iter();
    styles
        .filter_map(|(scope, style)| Some((Scope::new(scope).ok()?, style)))
        .collect()
});

/// Highlights a code block line by line.
pub(super) struct Highlighter {
    /// `None` for an unknown language, and once a line could not be parsed.
    state: Option<(ParseState, ScopeStack)>,
}

impl Highlighter {
    /// For the info string of a code block, such as `rust,no_run`.
    pub(super) fn new(language: &str) -> Self {
        let name = language.split([' ', ',', '{', ':']).next();
        let name = name.unwrap_or_default();
        let syntax = match name.is_empty() {
            true => None,
            false => SYNTAXES.find_syntax_by_token(name),
        };
        Highlighter {
            state: syntax.map(|syntax| (ParseState::new(syntax), ScopeStack::new())),
        }
    }

    /// A line of code, broken into as many lines as it needs. Nothing of it is lost, not even spaces.
    pub(super) fn line(&mut self, line: &str, width: usize) -> Vec<String> {
        let spans = match line.len() <= MAX_LEN {
            true => self.spans(line),
            false => None,
        };
        let spans = spans.unwrap_or_else(|| vec![(line.to_owned(), Style::new())]);
        break_anywhere(&spans, width)
    }

    fn spans(&mut self, line: &str) -> Option<Vec<(String, Style)>> {
        let (parser, stack) = self.state.as_mut()?;
        let line = format!("{line}\n");
        let Ok(operations) = parser.parse_line(&line, &SYNTAXES) else {
            self.state = None;
            return None;
        };
        let (mut spans, mut from) = (Vec::new(), 0);
        for (at, operation) in operations {
            spans.push((without_end(line.get(from..at)?), style_of(stack)));
            from = at;
            if stack.apply(&operation).is_err() {
                self.state = None;
                return None;
            }
        }
        spans.push((without_end(line.get(from..)?), style_of(stack)));
        Some(spans)
    }
}

/// Grammars need the line end; the output does not.
fn without_end(text: &str) -> String {
    text.trim_end_matches('\n').to_owned()
}

fn style_of(stack: &ScopeStack) -> Style {
    let mut scopes = stack.scopes.iter().rev();
    let found = scopes.find_map(|scope| {
        let mut styles = STYLES.iter();
        styles.find(|(prefix, _)| prefix.is_prefix_of(*scope))
    });
    found.map(|(_, style)| *style).unwrap_or_default()
}

fn break_anywhere(spans: &[(String, Style)], width: usize) -> Vec<String> {
    let room = width.saturating_sub(INDENT.len()).max(2);
    let (mut lines, mut line, mut used) = (Vec::new(), INDENT.to_owned(), 0);
    for (text, style) in spans {
        let mut part = String::new();
        for ch in plain(text).replace('\t', "    ").chars() {
            let wide = columns_of(ch);
            if used + wide > room {
                line.push_str(&Span::new(&part, *style).painted());
                part.clear();
                lines.push(std::mem::replace(&mut line, INDENT.to_owned()));
                used = 0;
            }
            part.push(ch);
            used += wide;
        }
        line.push_str(&Span::new(&part, *style).painted());
    }
    lines.push(line);
    lines
}
