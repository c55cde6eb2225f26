//! Markdown that arrives in pieces.
//!
//! Units that are complete are rendered once and never touched again. Only the unit that is still being written is live: it is
//! shown as it arrives, as raw text, and replaced by its rendered form when it is complete. Between two replacements output is
//! only appended, so nothing flickers. Lines of code are complete one by one.

use super::code::Highlighter;
use super::units::{Kind, Unit, units};
use super::{page, room, with_margin};
use crate::terminal::{Flow, MARGIN, plain};

/// The longest source of a live unit. A longer one stays raw.
const MAX_LEN: usize = 64 << 10;

/// What to write.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Update {
    /// Erases the line of the cursor and this many lines above it first.
    pub(crate) erase: Option<usize>,
    pub(crate) text: String,
}

/// A text that is being rendered.
pub(crate) struct MarkdownStream {
    /// What was not rendered yet, and a code block that is not complete.
    source: String,
    live: Live,
    code: Option<OpenCode>,
    /// The number of the next item of the list that is being written.
    number: Option<u64>,
    /// Whether something was rendered.
    begun: bool,
    /// The line ends after what was rendered last.
    line_ends: usize,
}

/// A code block that is being written.
struct OpenCode {
    highlighter: Highlighter,
    /// The number of its lines that were rendered.
    rendered: usize,
}

/// The raw text below what is rendered.
struct Live {
    flow: Flow,
    /// The complete lines of it on the screen.
    rows: usize,
    /// Whether there is any. Its last word may not be on the screen yet.
    is_begun: bool,
}

impl Live {
    fn new(width: usize) -> Self {
        Live {
            flow: Flow::new(Some(width), MARGIN),
            rows: 0,
            is_begun: false,
        }
    }

    fn push(&mut self, text: &str) -> String {
        let out = self.flow.push(text);
        self.rows += out.matches('\n').count();
        self.is_begun |= !text.is_empty();
        out
    }
}

impl MarkdownStream {
    pub(crate) fn new() -> Self {
        MarkdownStream {
            source: String::new(),
            live: Live::new(usize::MAX),
            code: None,
            number: None,
            begun: false,
            line_ends: 0,
        }
    }

    /// Adds text that is shown at the end.
    pub(super) fn buffer(&mut self, text: &str) {
        self.source.push_str(&plain(text));
    }

    /// Adds a piece, for a window of this many columns and lines.
    pub(crate) fn push(&mut self, piece: &str, width: usize, height: usize) -> Update {
        let piece = plain(piece);
        // Line ends that were not shown yet, if nothing is live.
        let pending = leading_line_ends(&self.source);
        self.source.push_str(&piece);
        self.live.flow.resize(Some(width));
        let Some(last) = piece.rfind('\n') else {
            return self.append(&piece, pending, width);
        };
        let (lines, rest) = piece.split_at(last + 1);
        let complete = self.source.len() - rest.len();
        // What has left the window cannot be replaced any more.
        if self.live.rows + 2 > height || self.source.len() > MAX_LEN {
            let mut update = self.append(lines, pending, width);
            self.give_up(complete, width);
            update.text.push_str(&self.append(rest, 0, width).text);
            return update;
        }
        let rendered = self.render_complete(complete, width);
        if rendered.is_empty() {
            return self.append(&piece, pending, width);
        }
        self.replace(rendered, width)
    }

    /// Renders what is left.
    pub(crate) fn end(&mut self, width: usize, height: usize) -> Update {
        if self.live.rows + 2 > height {
            let mut text = self.live.flow.end();
            if self.live.flow.is_within_line() {
                text.push('\n');
            }
            return Update { erase: None, text };
        }
        let length = self.source.len();
        let mut rendered = self.render_complete(length, width);
        for unit in units(&self.source.clone()) {
            rendered.push_str(&self.render_unit(&unit, 0, width));
        }
        self.source.clear();
        self.replace(rendered, width)
    }

    /// Shows more of the live text. `pending` is the number of line ends between it and what is rendered.
    fn append(&mut self, text: &str, pending: usize, width: usize) -> Update {
        let mut out = String::new();
        if !self.live.is_begun && !text.is_empty() {
            self.live = Live::new(width);
            if self.code.is_none() && self.begun && self.line_ends + pending > 1 {
                // An empty line.
                out.push_str(&self.live.push("\n"));
            }
        }
        out.push_str(&self.live.push(text));
        Update {
            erase: None,
            text: out,
        }
    }

    /// Replaces the live text by what was rendered, and what is left of it.
    fn replace(&mut self, rendered: String, width: usize) -> Update {
        let erase = self.live.is_begun.then_some(self.live.rows);
        self.live = Live::new(width);
        let pending = leading_line_ends(&self.source);
        let rest = match &self.code {
            // Its complete lines are rendered.
            Some(_) => self.source.rsplit('\n').next().unwrap_or_default(),
            None => self.source.get(pending..).unwrap_or_default(),
        };
        let rest = rest.to_owned();
        let update = self.append(&rest, pending, width);
        Update {
            erase,
            text: rendered + &update.text,
        }
    }

    /// Leaves the complete lines as they are shown.
    fn give_up(&mut self, complete: usize, width: usize) {
        self.source.drain(..complete);
        self.live = Live::new(width);
        (self.begun, self.line_ends) = (true, 1);
        (self.code, self.number) = (None, None);
    }

    /// Renders the units that are complete, and forgets their source.
    fn render_complete(&mut self, complete: usize, width: usize) -> String {
        let lines = self.source.get(..complete).unwrap_or_default().to_owned();
        let units = units(&lines);
        let mut rendered = String::new();
        let mut done = 0;
        for (at, unit) in units.iter().enumerate() {
            let is_last = at + 1 == units.len();
            let closed = match unit.kind {
                Kind::Line => true,
                Kind::Paragraph => lines.ends_with("\n\n"),
                _ => false,
            };
            if !is_last || closed {
                rendered.push_str(&self.render_unit(unit, done, width));
                done = unit.range.end;
            } else if let Kind::Code { language, text } = &unit.kind {
                rendered.push_str(&self.space_before(unit, done));
                rendered.push_str(&self.render_code(language, text, width));
                // The source of the block is parsed again with its next lines.
                done = unit.range.start;
            }
        }
        if done > 0 {
            self.source.drain(..done);
        }
        rendered
    }

    fn render_unit(&mut self, unit: &Unit, done: usize, width: usize) -> String {
        let mut rendered = self.space_before(unit, done);
        if let Kind::Code { language, text } = &unit.kind {
            rendered.push_str(&self.render_code(language, text, width));
            self.code = None;
        } else {
            let number = self.number_of(unit);
            let text = self.source.get(unit.range.clone()).unwrap_or_default();
            let lines = page::render(text, room(width), number);
            rendered.push_str(&with_margin(&lines));
        }
        let text = self.source.get(unit.range.clone()).unwrap_or_default();
        self.line_ends = text.len() - text.trim_end_matches('\n').len();
        self.begun = true;
        rendered
    }

    /// An empty line, if there is one before the unit in the source.
    fn space_before(&mut self, unit: &Unit, done: usize) -> String {
        if self.code.is_some() {
            return String::new();
        }
        let between = self.source.get(done..unit.range.start).unwrap_or_default();
        self.line_ends += between.matches('\n').count();
        match self.begun && self.line_ends > 1 {
            true => with_margin(&[String::new()]),
            false => String::new(),
        }
    }

    /// Counts the items of a numbered list.
    fn number_of(&mut self, unit: &Unit) -> Option<u64> {
        let Kind::Item { first, start } = unit.kind else {
            self.number = None;
            return None;
        };
        let start = start?;
        // The first item of the source may be a later one of a list whose beginning is rendered.
        let number = match (first, self.number) {
            (true, None) => start,
            (_, Some(next)) => next,
            (false, None) => start,
        };
        self.number = Some(number.saturating_add(1));
        Some(number)
    }

    /// Renders the lines of a code block that were not rendered yet.
    fn render_code(&mut self, language: &str, text: &str, width: usize) -> String {
        let code = self.code.get_or_insert_with(|| OpenCode {
            highlighter: Highlighter::new(language),
            rendered: 0,
        });
        let mut lines = Vec::new();
        for line in text.lines().skip(code.rendered) {
            code.rendered += 1;
            lines.extend(code.highlighter.line(line, room(width)));
        }
        (self.begun, self.number, self.line_ends) = (true, None, 1);
        with_margin(&lines)
    }
}

fn leading_line_ends(text: &str) -> usize {
    text.len() - text.trim_start_matches('\n').len()
}
