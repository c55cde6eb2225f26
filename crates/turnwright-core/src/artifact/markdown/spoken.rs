//! The text of inline Markdown.

use pulldown_cmark::Event;

/// Collects the text of a heading, a link or an image on one line.
#[derive(Default)]
pub(super) struct InlineText(String);

impl InlineText {
    pub(super) fn push(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) | Event::Code(text) => self.0.push_str(text),
            Event::SoftBreak | Event::HardBreak => self.0.push(' '),
            _ => {}
        }
    }

    pub(super) fn finish(self) -> String {
        match self.0.trim() {
            trimmed if trimmed.len() == self.0.len() => self.0,
            trimmed => trimmed.to_owned(),
        }
    }
}
