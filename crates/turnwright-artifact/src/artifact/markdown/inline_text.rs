//! The text of inline Markdown.

use pulldown_cmark::Event;

/// Appends the text of an event to the text of a heading, a link or an image, which has one line.
pub(super) fn push(text: &mut String, event: &Event<'_>) {
    match event {
        Event::Text(words) | Event::Code(words) => text.push_str(words),
        Event::SoftBreak | Event::HardBreak => text.push(' '),
        _ => {}
    }
}
