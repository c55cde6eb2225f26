//! Markdown as plain text.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::document::Document;

/// Calls `sink` for each line of plain text with its line number in the document. Lines without text produce an empty line.
/// Returns the number of HTML fragments that were omitted.
///
/// List markers, task markers, footnote labels, `|` between table cells and code are kept. HTML is omitted.
pub(super) fn plain_text(
    document: &Document,
    within: &Range<u64>,
    sink: impl FnMut(u64, &str),
) -> u64 {
    let bytes = document.bytes_of(within);
    let mut text = Text {
        document,
        within: within.clone(),
        line: 0,
        words: String::new(),
        last: None,
        code: None,
        sink,
    };
    let mut lists: Vec<Option<u64>> = Vec::new();
    let mut cells = 0;
    let mut html = 0;
    for (event, place) in document.events() {
        if place.start >= bytes.end {
            break;
        }
        match event {
            Event::Start(Tag::List(first)) => lists.push(first),
            Event::End(TagEnd::List(_)) => {
                lists.pop();
            }
            Event::Start(Tag::Item) => {
                let depth = lists.len().saturating_sub(1);
                let mark = match lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        format!("{}. ", number.saturating_sub(1))
                    }
                    _ => "- ".to_owned(),
                };
                text.indented(place.start, depth, &mark);
            }
            Event::TaskListMarker(done) => {
                text.push(place.start, if done { "[x] " } else { "[ ] " });
            }
            Event::Start(Tag::CodeBlock(_)) => text.code = Some(document.line_of(place.start)),
            Event::End(TagEnd::CodeBlock) => {
                text.end_line();
                text.code = None;
            }
            Event::Start(Tag::FootnoteDefinition(label)) => {
                text.push(place.start, &format!("[^{label}]: "));
            }
            Event::FootnoteReference(label) => text.push(place.start, &format!("[^{label}]")),
            Event::Start(Tag::TableHead | Tag::TableRow) => cells = 0,
            Event::Start(Tag::TableCell) => {
                text.push(place.start, if cells == 0 { "" } else { " | " });
                cells += 1;
            }
            Event::Text(words) if words.len() == place.len() => {
                text.push_lines(place.start, &words);
            }
            // A character reference may decode to a newline, which does not start a line of the document.
            Event::Text(words) | Event::Code(words) => {
                text.push(place.start, &words.replace('\n', " "));
            }
            Event::SoftBreak | Event::HardBreak => text.push(place.start, " "),
            Event::Html(_) | Event::InlineHtml(_) if place.start >= bytes.start => html += 1,
            _ => {}
        }
    }
    text.end_line();
    html
}

struct Text<'d, S> {
    document: &'d Document,
    within: Range<u64>,
    line: u64,
    words: String,
    /// The last line passed to `sink`.
    last: Option<u64>,
    /// The first line of the current code block, whose empty lines are kept.
    code: Option<u64>,
    sink: S,
}

impl<S: FnMut(u64, &str)> Text<'_, S> {
    fn push(&mut self, at: usize, words: &str) {
        let line = self.document.line_of(at);
        self.go_to(line);
        self.words.push_str(words);
    }

    fn indented(&mut self, at: usize, depth: usize, mark: &str) {
        self.push(at, "");
        if self.words.is_empty() {
            self.words.push_str(&"  ".repeat(depth));
        }
        self.words.push_str(mark);
    }

    fn push_lines(&mut self, at: usize, words: &str) {
        self.push(at, "");
        let mut pieces = words.split('\n');
        self.words.push_str(pieces.next().unwrap_or(""));
        for piece in pieces {
            self.end_line();
            self.line += 1;
            self.words.push_str(piece);
        }
    }

    fn go_to(&mut self, line: u64) {
        if line != self.line {
            self.end_line();
            self.line = line;
        }
    }

    /// Passes the line to `sink` if it is not empty.
    fn end_line(&mut self) {
        let words = self.words.trim_end();
        if !words.is_empty() && self.within.contains(&self.line) {
            let gap = self.last.map_or(self.line, |last| last + 1)..self.line;
            let all = self
                .last
                .is_some_and(|last| self.code.is_some_and(|code| code < last));
            for line in gap.take(if all { usize::MAX } else { 1 }) {
                (self.sink)(line, "");
            }
            (self.sink)(self.line, words);
            self.last = Some(self.line);
        }
        self.words.clear();
    }
}
