//! The syntax tree of a document as a flat list: every node with its depth, in document order.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use serde::Serialize;

use super::document::Document;
use super::listing::clipped;

/// Maximum length of a preview in bytes.
const PREVIEW: usize = 60;

/// A node of the syntax tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AstNode {
    /// Number of ancestors.
    pub depth: u32,
    /// The kind of node, such as `heading 2`, `list from 1` or `link https://example.org`.
    pub kind: String,
    /// The lines of the node.
    pub lines: Range<u64>,
    /// The beginning of the node's text, on one line.
    pub preview: String,
}

/// Calls `sink` for the nodes that start within these bytes and have fewer than `depth` ancestors. Includes the content of
/// paragraphs, headings and cells if `inline` is set. Returns how many nodes were too deep.
pub(super) fn nodes(
    document: &Document,
    within: &Range<usize>,
    depth: u32,
    inline: bool,
    mut sink: impl FnMut(AstNode),
) -> u64 {
    let mut walk = Walk {
        document,
        within,
        deepest: depth,
        inline,
        depth: 0,
        waiting: None,
        verbatim: false,
        too_deep: 0,
        sink: &mut sink,
    };
    if let Some(block) = document.frontmatter() {
        let lines = document.exact_lines_of(&block.bytes);
        walk.node("frontmatter".to_owned(), &block.bytes, lines);
    }
    // For every open tag, whether it counts as a level. Inline tags count only if they are shown.
    let mut open: Vec<bool> = Vec::new();
    for (event, bytes) in document.events() {
        if bytes.start >= within.end && walk.waiting.is_none() {
            break;
        }
        match event {
            Event::Start(tag) => {
                walk.verbatim |= matches!(tag, Tag::CodeBlock(_) | Tag::HtmlBlock);
                let counts = inline || !is_inline(&tag);
                open.push(counts);
                if counts {
                    let lines = match tag {
                        Tag::CodeBlock(_) => document.exact_lines_of(&bytes),
                        _ => document.lines_of(&bytes),
                    };
                    walk.node(kind_of(&tag), &bytes, lines);
                    walk.depth += 1;
                }
            }
            Event::End(tag) => {
                walk.verbatim &= !matches!(tag, TagEnd::CodeBlock | TagEnd::HtmlBlock);
                if open.pop() == Some(true) {
                    walk.hand_over();
                    walk.depth -= 1;
                }
            }
            Event::Rule => walk.node("rule".to_owned(), &bytes, document.lines_of(&bytes)),
            Event::Text(text) => walk.leaf("text", &bytes, &text),
            Event::Html(text) | Event::InlineHtml(text) => walk.leaf("html", &bytes, &text),
            Event::Code(text) => walk.leaf("code", &bytes, &text),
            Event::SoftBreak => walk.words(" "),
            Event::HardBreak => walk.leaf("line break", &bytes, " "),
            Event::TaskListMarker(true) => walk.leaf("task done", &bytes, "[x] "),
            Event::TaskListMarker(false) => walk.leaf("task", &bytes, "[ ] "),
            Event::FootnoteReference(label) => {
                let kind = format!("see footnote {}", clipped(&label, 40));
                walk.leaf(&kind, &bytes, &format!("[^{label}]"));
            }
            Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }
    walk.hand_over();
    walk.too_deep
}

struct Walk<'d, S> {
    document: &'d Document,
    within: &'d Range<usize>,
    deepest: u32,
    inline: bool,
    /// Number of open nodes that are shown.
    depth: u32,
    /// The last node that started. Text before the next node belongs to it.
    waiting: Option<AstNode>,
    /// Whether inside code or HTML, whose lines are not nodes.
    verbatim: bool,
    too_deep: u64,
    sink: &'d mut S,
}

impl<S: FnMut(AstNode)> Walk<'_, S> {
    fn node(&mut self, kind: String, bytes: &Range<usize>, lines: Range<u64>) {
        self.hand_over();
        if !self.within.contains(&bytes.start) {
            return;
        }
        if self.depth >= self.deepest {
            self.too_deep += 1;
            return;
        }
        self.waiting = Some(AstNode {
            depth: self.depth,
            kind,
            lines,
            preview: String::new(),
        });
    }

    /// Adds a node without children: as a node of its own, or as words of the enclosing block.
    fn leaf(&mut self, kind: &str, bytes: &Range<usize>, words: &str) {
        if self.inline && !self.verbatim {
            self.node(kind.to_owned(), bytes, self.document.lines_of(bytes));
        }
        self.words(words);
    }

    fn words(&mut self, words: &str) {
        if let Some(node) = &mut self.waiting
            && node.preview.len() <= PREVIEW
        {
            let end = words.floor_char_boundary(PREVIEW + 8);
            node.preview.push_str(words.get(..end).unwrap_or(""));
        }
    }

    fn hand_over(&mut self) {
        if let Some(mut node) = self.waiting.take() {
            node.preview = clipped(node.preview.trim(), PREVIEW);
            (self.sink)(node);
        }
    }
}

/// Returns whether a tag belongs inside a paragraph, a heading or a cell.
fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
    )
}

fn kind_of(tag: &Tag<'_>) -> String {
    let name = match tag {
        Tag::Heading { level, .. } => return format!("heading {}", *level as u8),
        Tag::List(Some(first)) => return format!("list from {first}"),
        Tag::CodeBlock(CodeBlockKind::Fenced(info)) if !info.trim().is_empty() => {
            return format!("code block {}", clipped(info.trim(), 40));
        }
        Tag::Table(columns) => return format!("table with {} columns", columns.len()),
        Tag::FootnoteDefinition(label) => return format!("footnote {}", clipped(label, 40)),
        Tag::Link { dest_url, .. } => return format!("link {}", clipped(dest_url, 120)),
        Tag::Image { dest_url, .. } => return format!("image {}", clipped(dest_url, 120)),
        Tag::BlockQuote(_) => "quote",
        Tag::List(None) => "list",
        Tag::Item => "item",
        Tag::CodeBlock(_) => "code block",
        Tag::HtmlBlock => "html",
        Tag::TableHead => "table head",
        Tag::TableRow => "table row",
        Tag::TableCell => "table cell",
        Tag::Emphasis => "emphasis",
        Tag::Strong => "strong",
        Tag::Strikethrough => "strikethrough",
        // Extensions that are disabled do not occur.
        _ => "paragraph",
    };
    name.to_owned()
}
