//! Renders the events of a block into lines, without the margin.

use anstyle::Style;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use super::code::Highlighter;
use super::spans::{Span, wrap};
use super::table::Table;
use crate::terminal::flow::columns;
use crate::terminal::style;

/// The most nested lists and quotes that are indented.
const DEEPEST: usize = 8;
/// The columns that lists and quotes leave for text.
const NARROWEST: usize = 4;
/// The columns of a rule.
const RULE: usize = 40;

const CODE: Style = style::NAME;
const LINK: Style = Style::new().underline();

/// Renders a block. `number` is the number of a list item that is rendered on its own.
pub(super) fn render(text: &str, width: usize, number: Option<u64>) -> Vec<String> {
    let mut page = Page {
        width,
        number,
        lines: Vec::new(),
        containers: Vec::new(),
        lists: Vec::new(),
        spans: Vec::new(),
        styles: vec![Style::new()],
        links: Vec::new(),
        block: None,
        apart: false,
    };
    for event in Parser::new_ext(text, super::options()) {
        page.event(event);
    }
    page.flush();
    page.lines
}

/// What indents the lines within a list item or a quote.
struct Container {
    /// Before the first line: the bullet or the number of an item.
    first: Option<(String, Style)>,
    /// Before the other lines.
    rest: String,
}

/// A block whose content is collected before it is rendered.
enum Collected {
    Code(String, String),
    Table(Table),
}

struct Page {
    width: usize,
    number: Option<u64>,
    lines: Vec<String>,
    containers: Vec<Container>,
    /// The next number of each open list, if it is numbered.
    lists: Vec<Option<u64>>,
    spans: Vec<Span>,
    styles: Vec<Style>,
    /// The targets of the open links, and where their texts begin in `spans`.
    links: Vec<(String, usize)>,
    block: Option<Collected>,
    /// Whether an empty line comes before the next block.
    apart: bool,
}

impl Page {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.block {
                Some(Collected::Code(_, code)) => code.push_str(&text),
                _ => self.text(&text, Style::new()),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, CODE);
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                self.text(text.trim_end_matches('\n'), style::DIM);
                if text.ends_with('\n') {
                    self.spans.push(Span::line_break());
                }
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), style::DIM),
            // As it was written: models break lines on purpose.
            Event::SoftBreak | Event::HardBreak => self.spans.push(Span::line_break()),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.room().min(RULE));
                self.emit(vec![style::paint(style::DIM, rule)]);
                self.apart = true;
            }
            Event::TaskListMarker(done) => {
                let mark = if done { "[x] " } else { "[ ] " };
                self.text(mark, Style::new());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let style = match level {
                    HeadingLevel::H1 => Style::new().bold().underline(),
                    _ => style::BOLD,
                };
                self.push_style(style);
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.begin_block();
                self.contain("> ", None);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.block = Some(Collected::Code(language, String::new()));
            }
            Tag::List(start) => {
                self.flush();
                let start = match self.lists.is_empty() {
                    true => start.map(|start| self.number.unwrap_or(start)),
                    false => start,
                };
                if self.lists.is_empty() {
                    self.begin_block();
                }
                self.lists.push(start);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        mark
                    }
                    _ => "• ".to_owned(),
                };
                self.contain(&" ".repeat(columns(&mark)), Some(mark));
            }
            Tag::Table(alignments) => {
                self.flush();
                self.begin_block();
                self.block = Some(Collected::Table(Table::new(alignments)));
            }
            Tag::Emphasis => self.push_style(Style::new().italic()),
            Tag::Strong => self.push_style(style::BOLD),
            Tag::Strikethrough => self.push_style(Style::new().strikethrough()),
            Tag::Link { dest_url, .. } => self.begin_link(dest_url.to_string()),
            Tag::Image { dest_url, .. } => {
                self.text("image: ", style::DIM);
                self.begin_link(dest_url.to_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.apart = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
                self.apart = true;
            }
            TagEnd::CodeBlock => {
                if let Some(Collected::Code(language, code)) = self.block.take() {
                    let mut highlighter = Highlighter::new(&language);
                    let room = self.room();
                    let lines = code.lines().flat_map(|line| highlighter.line(line, room));
                    let lines = lines.collect();
                    self.emit(lines);
                }
                self.apart = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.apart = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                // An item without text has its mark all the same.
                if self
                    .containers
                    .last()
                    .is_some_and(|item| item.first.is_some())
                {
                    self.emit(vec![String::new()]);
                }
                self.containers.pop();
            }
            TagEnd::TableCell => {
                let spans = std::mem::take(&mut self.spans);
                if let Some(Collected::Table(table)) = &mut self.block {
                    table.cell(spans);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(Collected::Table(table)) = &mut self.block {
                    table.end_row();
                }
            }
            TagEnd::Table => {
                if let Some(Collected::Table(table)) = self.block.take() {
                    let lines = table.render(self.room());
                    self.emit(lines);
                }
                self.apart = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    /// Adds a style to the one around it.
    fn push_style(&mut self, style: Style) {
        let outer = self.style();
        self.styles.push(merged(outer, style));
    }

    fn text(&mut self, text: &str, style: Style) {
        let style = merged(self.style(), style);
        self.spans.push(Span::new(text, style));
    }

    fn begin_link(&mut self, target: String) {
        self.links.push((target, self.spans.len()));
        self.push_style(LINK);
    }

    /// Shows where a link leads, unless its text says so: nothing is hidden behind a text.
    fn end_link(&mut self) {
        self.styles.pop();
        if let Some((target, from)) = self.links.pop() {
            let text = self.spans.get(from..).unwrap_or_default();
            if !super::spans::is_text(text, target.trim_start_matches("mailto:")) {
                self.text(&format!(" ({target})"), style::DIM);
            }
        }
    }

    /// Indents what follows. Without room for that, a mark becomes part of the text.
    fn contain(&mut self, indent: &str, mark: Option<String>) {
        let fits = self.room() >= columns(indent) + NARROWEST;
        if fits && self.containers.len() < DEEPEST {
            self.containers.push(Container {
                first: mark.map(|mark| (mark, style::NAME)),
                rest: indent.to_owned(),
            });
            return;
        }
        self.containers.push(Container {
            first: None,
            rest: String::new(),
        });
        if let Some(mark) = mark {
            self.text(&mark, style::NAME);
        }
    }

    /// The columns for text within the containers.
    fn room(&self) -> usize {
        let indent: usize = self.containers.iter().map(|item| columns(&item.rest)).sum();
        self.width.saturating_sub(indent).max(2)
    }

    fn begin_block(&mut self) {
        if std::mem::take(&mut self.apart) && !self.lines.is_empty() {
            // Only within what has begun: the mark of an item is not consumed by an empty line.
            let begun = self
                .containers
                .iter()
                .take_while(|item| item.first.is_none());
            let prefix: String = begun.map(|item| item.rest.as_str()).collect();
            self.lines.push(prefix.trim_end().to_owned());
        }
    }

    /// Writes the collected text.
    fn flush(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if !spans.is_empty() {
            let lines = wrap(&spans, self.room());
            self.emit(lines);
        }
    }

    fn emit(&mut self, lines: Vec<String>) {
        for line in lines {
            let mut text = String::new();
            for container in &mut self.containers {
                match container.first.take() {
                    Some((mark, style)) => text.push_str(&style::paint(style, mark)),
                    None => text.push_str(&container.rest),
                }
            }
            text.push_str(&line);
            self.lines.push(match line.is_empty() {
                true => text.trim_end().to_owned(),
                false => text,
            });
        }
    }
}

/// Both styles: colours of the inner one, effects of both.
fn merged(outer: Style, inner: Style) -> Style {
    let style = match inner.get_fg_color() {
        Some(colour) => outer.fg_color(Some(colour)),
        None => outer,
    };
    style.effects(outer.get_effects() | inner.get_effects())
}
