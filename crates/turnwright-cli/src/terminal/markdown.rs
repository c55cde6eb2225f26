//! Renders Markdown for a terminal, block by block as a stream ends a block.
//!
//! Written on pulldown-cmark, which the library uses anyway: crates that render Markdown bring a terminal library of their own,
//! want the complete text, and leave control characters in it. Every line has the margin of model text, and every piece of text
//! passes [`plain`](super::plain) after it was parsed, because entities such as `&#27;` only become control characters then.

use std::mem::take;

use anstyle::Style;
use pulldown_cmark::{Alignment, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::flow::{MARGIN, columns, columns_of};
use super::{plain, style};

#[cfg(test)]
mod tests;

/// The most nested lists and quotes that are indented.
const DEEPEST: usize = 8;
/// The columns that lists and quotes leave for text.
const NARROWEST: usize = 4;
/// The narrowest column of a table.
const NARROWEST_COLUMN: usize = 3;
/// The most characters of the line that is being written.
const LAST_LINE: usize = 50;
/// The columns of a rule.
const RULE: usize = 40;

const CODE: Style = style::NAME;
const LINK: Style = Style::new().underline();

/// Renders a complete text. Each line begins with the margin; the last one has no line end.
pub(crate) fn render(text: &str, width: usize) -> String {
    let mut stream = MarkdownStream::default();
    stream.pending.push_str(text);
    stream.end(width).trim_end_matches('\n').to_owned()
}

/// Renders a text that arrives in pieces. Paragraphs and tables appear when they are complete, lists by item, code by line.
#[derive(Default)]
pub(crate) struct MarkdownStream {
    /// The text from the last top-level block on.
    pending: String,
    /// The number of lines of that block that were returned, and the width that they have.
    returned: usize,
    width: usize,
    /// Whether a block came before it.
    apart: bool,
}

impl MarkdownStream {
    /// Adds a piece. Returns the lines that no later piece can change.
    pub(crate) fn push(&mut self, piece: &str, width: usize) -> String {
        self.pending.push_str(piece);
        match self.pending.rfind('\n') {
            Some(end) if piece.contains('\n') => {
                let page = self.page(end + 1, width);
                let lines = self.take_lines(&page.lines, page.complete);
                let (start, line) = page.last_block;
                self.pending.drain(..start);
                self.returned -= line.min(self.returned);
                self.apart |= line > 0;
                lines
            }
            _ => String::new(),
        }
    }

    /// The line that is being written, without what no longer fits next to a spinner.
    pub(crate) fn last_line(&self) -> String {
        let line = self.pending.lines().next_back().unwrap_or_default();
        let mut last: Vec<char> = line.chars().rev().take(LAST_LINE).collect();
        last.reverse();
        last.into_iter().collect()
    }

    /// Returns the rest.
    pub(crate) fn end(&mut self, width: usize) -> String {
        let page = self.page(self.pending.len(), width);
        self.take_lines(&page.lines, page.lines.len())
    }

    fn page(&mut self, end: usize, width: usize) -> Page {
        if self.returned == 0 {
            self.width = width;
        }
        let text = self.pending.get(..end).unwrap_or_default();
        Page::new(text, self.width, self.apart)
    }

    /// The lines up to `end` that were not returned yet, behind the margin.
    fn take_lines(&mut self, lines: &[String], end: usize) -> String {
        let lines = lines.get(self.returned..end).unwrap_or_default();
        self.returned += lines.len();
        let with_margin = |line: &String| format!("{}\n", format!("{MARGIN}{line}").trim_end());
        lines.iter().map(with_margin).collect()
    }
}

/// A character in a style. `\n` is a line break.
pub(super) type Glyph = (char, Style);

/// What indents the lines within a list item or a quote.
struct Indent {
    /// Before the first line: the bullet or the number of an item.
    first: Option<String>,
    /// Before the other lines.
    rest: String,
}

struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Vec<Glyph>>>,
}

/// The rendered lines of a text, without the margin.
#[derive(Default)]
struct Page {
    width: usize,
    lines: Vec<String>,
    /// The number of lines that text that follows cannot change.
    complete: usize,
    /// Where the last top-level block begins, in the text and in `lines`.
    last_block: (usize, usize),
    indents: Vec<Indent>,
    /// The next number of each open list, if it is numbered.
    lists: Vec<Option<u64>>,
    text: Vec<Glyph>,
    styles: Vec<Style>,
    /// The targets of the open links, and where their texts begin in `text`.
    links: Vec<(String, usize)>,
    in_code: bool,
    table: Option<Table>,
    /// Whether an empty line comes before the next block.
    apart: bool,
    /// That line, once the block has begun.
    separator: Option<String>,
}

impl Page {
    fn new(text: &str, width: usize, apart: bool) -> Self {
        let mut page = Page {
            width: width.saturating_sub(columns(MARGIN)).max(2),
            apart,
            ..Page::default()
        };
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut depth = 0_usize;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            let is_end = matches!(event, Event::End(_));
            if depth == 0 && !is_end {
                // With its indentation, which makes it code.
                let before = text.get(..range.start).unwrap_or_default();
                page.last_block = (before.trim_end_matches(' ').len(), page.lines.len());
                page.complete = page.lines.len();
            }
            if depth == 1 && matches!(event, Event::Start(Tag::Item)) {
                page.complete = page.lines.len();
            }
            let is_complete = match &event {
                Event::Rule | Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock) => true,
                Event::End(TagEnd::Paragraph | TagEnd::Table) => text.ends_with("\n\n"),
                _ => false,
            };
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= depth.min(1),
                _ => {}
            }
            page.event(event);
            if depth == 0 && is_complete {
                page.complete = page.lines.len();
            }
        }
        page
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => self.push(&text, CODE),
            Event::Text(text) => self.push(&text, Style::new()),
            Event::Code(text) => self.push(&text, CODE),
            Event::Html(text) | Event::InlineHtml(text) => self.push(&text, style::DIM),
            // As it was written: models break lines on purpose.
            Event::SoftBreak | Event::HardBreak => self.push("\n", Style::new()),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.room().min(RULE));
                self.emit([style::paint(style::DIM, rule)]);
            }
            Event::TaskListMarker(done) => {
                self.push(if done { "[x] " } else { "[ ] " }, Style::new());
            }
            // Math and footnotes are not enabled.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.push_style(match level {
                    HeadingLevel::H1 => style::BOLD.underline(),
                    _ => style::BOLD,
                });
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.indent("> ".to_owned(), None);
            }
            Tag::CodeBlock(_) => {
                self.begin_block();
                self.in_code = true;
            }
            Tag::List(start) => {
                if self.lists.is_empty() {
                    self.begin_block();
                }
                self.flush();
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
                self.indent(" ".repeat(columns(&mark)), Some(mark));
                // Whether a list has empty lines between its items is known only at its end.
                self.apart = false;
            }
            Tag::Table(alignments) => {
                self.begin_block();
                let rows = Vec::new();
                self.table = Some(Table { alignments, rows });
            }
            Tag::TableHead => {
                self.begin_row();
                self.push_style(style::BOLD);
            }
            Tag::TableRow => self.begin_row(),
            Tag::Emphasis => self.push_style(Style::new().italic()),
            Tag::Strong => self.push_style(style::BOLD),
            Tag::Strikethrough => self.push_style(Style::new().strikethrough()),
            Tag::Link { dest_url, .. } => self.begin_link(dest_url.to_string()),
            Tag::Image { dest_url, .. } => {
                self.push("image: ", style::DIM);
                self.begin_link(dest_url.to_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.indents.pop();
            }
            TagEnd::CodeBlock => {
                self.in_code = false;
                let mut code = take(&mut self.text);
                // Every line has its end, so code without any has no lines.
                if code.pop_if(|(ch, _)| *ch == '\n').is_some() || !code.is_empty() {
                    // Nothing of it is lost, not even spaces.
                    let lines = wrap(&code, self.room().saturating_sub(2).max(2), false);
                    self.emit(lines.iter().map(|line| format!("  {}", painted(line))));
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.apart = true;
            }
            TagEnd::Item => {
                self.flush();
                // An item without text has its mark all the same.
                if self.indents.last().is_some_and(|item| item.first.is_some()) {
                    self.emit([String::new()]);
                }
                self.indents.pop();
            }
            TagEnd::TableCell => {
                let cell = take(&mut self.text);
                let row = self.table.as_mut().and_then(|table| table.rows.last_mut());
                if let Some(row) = row {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.emit(table.lines(self.room()));
                }
            }
            TagEnd::TableHead | TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    /// The style around, with the effects of this one and its colour.
    fn styled(&self, style: Style) -> Style {
        let outer = self.styles.last().copied().unwrap_or_default();
        let colour = style.get_fg_color().or(outer.get_fg_color());
        style.fg_color(colour) | outer.get_effects()
    }

    fn push_style(&mut self, style: Style) {
        self.styles.push(self.styled(style));
    }

    fn push(&mut self, text: &str, style: Style) {
        let style = self.styled(style);
        let text = plain(text).replace('\t', "    ");
        self.text.extend(text.chars().map(|ch| (ch, style)));
    }

    fn begin_link(&mut self, target: String) {
        self.links.push((target, self.text.len()));
        self.push_style(LINK);
    }

    /// Shows where a link leads, unless its text says so: nothing is hidden behind a text.
    fn end_link(&mut self) {
        self.styles.pop();
        if let Some((target, from)) = self.links.pop() {
            let text = self.text.iter().skip(from).map(|(ch, _)| *ch);
            if !text.eq(target.trim_start_matches("mailto:").chars()) {
                self.push(&format!(" ({target})"), style::DIM);
            }
        }
    }

    fn begin_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    /// Indents what follows. Without room for that, a mark becomes part of the text.
    fn indent(&mut self, rest: String, first: Option<String>) {
        if self.room() >= columns(&rest) + NARROWEST && self.indents.len() < DEEPEST {
            self.indents.push(Indent { first, rest });
            return;
        }
        let (nothing, none) = (String::new(), None);
        self.indents.push(Indent {
            first: none,
            rest: nothing,
        });
        self.push(&first.unwrap_or_default(), style::NAME);
    }

    /// The columns for text within the indents.
    fn room(&self) -> usize {
        let indent: usize = self.indents.iter().map(|item| columns(&item.rest)).sum();
        self.width.saturating_sub(indent).max(2)
    }

    fn begin_block(&mut self) {
        self.flush();
        if take(&mut self.apart) {
            // Only within what has begun: an empty line does not use up the mark of an item.
            let begun = self.indents.iter().take_while(|item| item.first.is_none());
            let indent: String = begun.map(|item| item.rest.as_str()).collect();
            self.separator = Some(indent.trim_end().to_owned());
        }
    }

    /// Writes the collected text.
    fn flush(&mut self) {
        let mut text = take(&mut self.text);
        text.pop_if(|(ch, _)| *ch == '\n');
        if !text.is_empty() {
            let lines = wrap(&text, self.room(), true);
            self.emit(lines.iter().map(|line| painted(line)));
        }
    }

    fn emit(&mut self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            self.lines.extend(self.separator.take());
            let mut text = String::new();
            for indent in &mut self.indents {
                match indent.first.take() {
                    Some(mark) => text.push_str(&style::paint(style::NAME, mark)),
                    None => text.push_str(&indent.rest),
                }
            }
            text.push_str(&line);
            self.lines.push(text.trim_end().to_owned());
        }
        self.apart = true;
    }
}

impl Table {
    /// Lines of at most `width` columns. Cells are wrapped; a table with too many columns is shown as a list of its cells.
    fn lines(&self, width: usize) -> Vec<String> {
        let Some(widths) = self.widths(width) else {
            let cells = self.rows.iter().flatten();
            let lines = cells.flat_map(|cell| wrap(cell, width, true));
            return lines.map(|line| painted(&line)).collect();
        };
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths);
            let cells: Vec<_> = cells
                .map(|(cell, width)| wrap(cell, *width, true))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default();
            for at in 0..height {
                let line = cells.iter().zip(&widths).zip(&self.alignments);
                let line = line.map(|((cell, width), alignment)| {
                    aligned(cell.get(at).map_or(&[], Vec::as_slice), *width, *alignment)
                });
                lines.push(line.collect::<Vec<_>>().join(" │ ").trim_end().to_owned());
            }
            if number == 0 {
                let rule: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(style::paint(style::DIM, rule.join("─┼─")));
            }
        }
        lines
    }

    /// The width of each column; `None` if they do not fit.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let natural = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let widths = cells.map(|cell| width_of(cell));
            widths.max().unwrap_or_default().max(1)
        };
        let mut widths: Vec<usize> = (0..self.alignments.len()).map(natural).collect();
        let room = width.checked_sub(3 * widths.len().saturating_sub(1))?;
        // Takes columns from the widest until all of them fit.
        while widths.iter().sum::<usize>() > room {
            let widest = widths
                .iter_mut()
                .max()
                .filter(|width| **width > NARROWEST_COLUMN)?;
            *widest -= 1;
        }
        Some(widths)
    }
}

fn aligned(text: &[Glyph], width: usize, alignment: Alignment) -> String {
    let free = width.saturating_sub(width_of(text));
    let before = match alignment {
        Alignment::Right => free,
        Alignment::Center => free / 2,
        Alignment::Left | Alignment::None => 0,
    };
    let (before, after) = (" ".repeat(before), " ".repeat(free - before));
    format!("{before}{}{after}", painted(text))
}

/// Breaks text into lines of at most `width` columns, between words if `at_spaces`. A word that is wider than a line is broken
/// too.
pub(super) fn wrap(text: &[Glyph], width: usize, at_spaces: bool) -> Vec<Vec<Glyph>> {
    let mut lines = Vec::new();
    for source in text.split(|(ch, _)| *ch == '\n') {
        let (mut line, mut used): (Vec<Glyph>, usize) = (Vec::new(), 0);
        for glyph in source {
            if at_spaces && line.is_empty() && glyph.0 == ' ' {
                continue;
            }
            line.push(*glyph);
            used += columns_of(glyph.0);
            if used > width.max(2) {
                let space = line.iter().rposition(|(ch, _)| at_spaces && *ch == ' ');
                let rest = line.split_off(space.map_or(line.len() - 1, |space| space + 1));
                used = width_of(&rest);
                line.truncate(space.unwrap_or(line.len()));
                lines.push(std::mem::replace(&mut line, rest));
            }
        }
        lines.push(line);
    }
    lines
}

fn width_of(text: &[Glyph]) -> usize {
    text.iter().map(|(ch, _)| columns_of(*ch)).sum()
}

/// Text with the escape sequences of its styles.
fn painted(text: &[Glyph]) -> String {
    let runs = text.chunk_by(|(_, one), (_, other)| one == other);
    let runs = runs.map(|run| {
        let text: String = run.iter().map(|(ch, _)| *ch).collect();
        match run.first() {
            Some((_, style)) if *style != Style::new() => style::paint(*style, text),
            _ => text,
        }
    });
    runs.collect()
}
