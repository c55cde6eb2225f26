//! Renders Markdown for a terminal: emphasis, lists, tables, quotes, and code with syntax highlighting.
//!
//! pulldown-cmark parses. Every line has the margin of model text, and every piece of text passes [`plain`](super::plain) after
//! it was parsed, because entities such as `&#27;` only become control characters then.

mod code;
mod page;
mod spans;
mod stream;
mod table;
mod units;

#[cfg(test)]
mod tests;

use pulldown_cmark::Options;

pub(crate) use stream::{MarkdownStream, Update};

use super::MARGIN;
use super::flow::columns;

/// The extensions that are enabled.
fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Renders a complete text. Each line begins with the margin; the last one has no line end.
pub(crate) fn render(text: &str, width: usize) -> String {
    let mut stream = MarkdownStream::new();
    // Nothing is shown before the end, so there is nothing to erase.
    stream.buffer(text);
    let update = stream.end(width, usize::MAX);
    update.text.trim_end_matches('\n').to_owned()
}

/// The columns for text behind the margin, at least two: one wide character.
fn room(width: usize) -> usize {
    width.saturating_sub(columns(MARGIN)).max(2)
}

/// Puts the margin before each line.
fn with_margin(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        match line.is_empty() {
            true => text.push_str(MARGIN.trim_end()),
            false => {
                text.push_str(MARGIN);
                text.push_str(line);
            }
        }
        text.push('\n');
    }
    text
}
