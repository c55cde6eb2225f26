//! The tree of a document, flat: every node with its depth, in the order in which the nodes begin.

use std::fmt;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use serde::Serialize;

use super::document::Document;
use super::told::clipped;

/// How many bytes of a node's text are shown.
const PREVIEW: usize = 60;

/// A node of a document's tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AstNode {
    /// How many nodes it stands in.
    pub depth: u32,
    /// What it is.
    #[serde(flatten)]
    pub kind: NodeKind,
    /// Its lines.
    pub lines: Range<u64>,
    /// How the text that stands in it begins, on one line.
    pub preview: String,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "Markdown's own names")]
pub enum NodeKind {
    /// The metadata block.
    Frontmatter,
    Paragraph,
    Heading {
        level: u8,
    },
    Quote,
    /// Numbered from `first` on, or with bullets.
    List {
        first: Option<u64>,
    },
    Item,
    /// With what stands after its opening fence.
    CodeBlock {
        info: String,
    },
    Html,
    Table {
        columns: usize,
    },
    TableHead,
    TableRow,
    TableCell,
    Footnote {
        label: String,
    },
    Rule,
    /// The box of an item that is a task.
    Task {
        done: bool,
    },
    Text,
    Code,
    Emphasis,
    Strong,
    Strikethrough,
    Link {
        url: String,
    },
    Image {
        url: String,
    },
    FootnoteReference {
        label: String,
    },
    /// A line break that is shown as one.
    Break,
}

/// Which nodes are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AstOptions {
    /// No nodes that stand in so many others. 16 unless told.
    pub depth: u32,
    /// Also what stands inside paragraphs, headings and cells. Not unless told.
    pub inline: bool,
}

impl Default for AstOptions {
    fn default() -> Self {
        AstOptions {
            depth: 16,
            inline: false,
        }
    }
}

impl AstOptions {
    /// With no nodes that stand in so many others.
    #[must_use]
    pub fn depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }

    /// Also with what stands inside paragraphs, headings and cells.
    #[must_use]
    pub fn inline(mut self, inline: bool) -> Self {
        self.inline = inline;
        self
    }
}

/// Hands over the nodes that begin within these bytes. Gives how many were left out because they are too deep.
pub(super) fn nodes(
    document: &Document,
    within: &Range<usize>,
    options: AstOptions,
    mut sink: impl FnMut(AstNode),
) -> u64 {
    let mut walk = Walk {
        document,
        within,
        options,
        waiting: None,
        verbatim: false,
        too_deep: 0,
        sink: &mut sink,
    };
    if let Some(block) = document.frontmatter() {
        walk.node(NodeKind::Frontmatter, 0, &block.whole);
    }
    let mut depth = 0;
    // For every open tag, whether it counts as a level: inline ones do only where they are shown.
    let mut open: Vec<bool> = Vec::new();
    for (event, bytes) in document.events() {
        if bytes.start >= within.end && walk.waiting.is_none() {
            break;
        }
        match event {
            Event::Start(tag) => {
                let (kind, inline) = kind_of(&tag);
                walk.verbatim |= matches!(tag, Tag::CodeBlock(_) | Tag::HtmlBlock);
                let counts = options.inline || !inline;
                open.push(counts);
                if counts {
                    walk.node(kind, depth, &bytes);
                    depth += 1;
                }
            }
            Event::End(tag) => {
                walk.verbatim &= !matches!(tag, TagEnd::CodeBlock | TagEnd::HtmlBlock);
                if open.pop() == Some(true) {
                    walk.hand_over();
                    depth -= 1;
                }
            }
            Event::Rule => walk.node(NodeKind::Rule, depth, &bytes),
            Event::Text(text) => walk.leaf(NodeKind::Text, depth, &bytes, &text),
            Event::Html(text) | Event::InlineHtml(text) => {
                walk.leaf(NodeKind::Html, depth, &bytes, &text);
            }
            Event::Code(text) => walk.leaf(NodeKind::Code, depth, &bytes, &text),
            Event::SoftBreak => walk.words(" "),
            Event::HardBreak => walk.leaf(NodeKind::Break, depth, &bytes, " "),
            Event::TaskListMarker(done) => {
                let shown = if done { "[x] " } else { "[ ] " };
                walk.leaf(NodeKind::Task { done }, depth, &bytes, shown);
            }
            Event::FootnoteReference(label) => {
                let shown = format!("[^{label}]");
                let label = label.into_string();
                walk.leaf(NodeKind::FootnoteReference { label }, depth, &bytes, &shown);
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
    options: AstOptions,
    /// The node that began last: text that comes before the next one is its own.
    waiting: Option<AstNode>,
    /// In code or HTML, whose lines are no nodes.
    verbatim: bool,
    too_deep: u64,
    sink: &'d mut S,
}

impl<S: FnMut(AstNode)> Walk<'_, S> {
    fn node(&mut self, kind: NodeKind, depth: u32, bytes: &Range<usize>) {
        self.hand_over();
        if !self.within.contains(&bytes.start) {
            return;
        }
        if depth >= self.options.depth {
            self.too_deep += 1;
            return;
        }
        let lines = match kind {
            NodeKind::CodeBlock { .. } | NodeKind::Frontmatter => {
                self.document.exact_lines_of(bytes)
            }
            _ => self.document.lines_of(bytes),
        };
        self.waiting = Some(AstNode {
            depth,
            kind,
            lines,
            preview: String::new(),
        });
    }

    /// A node that has nothing in it: shown by itself, or as words of the block that it stands in.
    fn leaf(&mut self, kind: NodeKind, depth: u32, bytes: &Range<usize>, words: &str) {
        if self.options.inline && !self.verbatim {
            self.node(kind, depth, bytes);
        }
        self.words(words);
    }

    fn words(&mut self, words: &str) {
        if let Some(node) = &mut self.waiting
            && node.preview.len() <= PREVIEW
        {
            let words = words
                .get(..words.floor_char_boundary(PREVIEW + 8))
                .unwrap_or("");
            node.preview.push_str(words);
        }
    }

    fn hand_over(&mut self) {
        if let Some(mut node) = self.waiting.take() {
            node.preview = clipped(node.preview.trim(), PREVIEW);
            (self.sink)(node);
        }
    }
}

/// What a tag is, and whether it stands inside a paragraph, a heading or a cell.
fn kind_of(tag: &Tag<'_>) -> (NodeKind, bool) {
    let kind = match tag {
        Tag::Heading { level, .. } => NodeKind::Heading {
            level: *level as u8,
        },
        Tag::BlockQuote(_) => NodeKind::Quote,
        Tag::CodeBlock(CodeBlockKind::Fenced(info)) => NodeKind::CodeBlock {
            info: info.trim().to_owned(),
        },
        Tag::CodeBlock(CodeBlockKind::Indented) => NodeKind::CodeBlock {
            info: String::new(),
        },
        Tag::HtmlBlock => NodeKind::Html,
        Tag::List(first) => NodeKind::List { first: *first },
        Tag::Item => NodeKind::Item,
        Tag::FootnoteDefinition(label) => NodeKind::Footnote {
            label: label.to_string(),
        },
        Tag::Table(columns) => NodeKind::Table {
            columns: columns.len(),
        },
        Tag::TableHead => NodeKind::TableHead,
        Tag::TableRow => NodeKind::TableRow,
        Tag::TableCell => NodeKind::TableCell,
        Tag::Emphasis => return (NodeKind::Emphasis, true),
        Tag::Strong => return (NodeKind::Strong, true),
        Tag::Strikethrough => return (NodeKind::Strikethrough, true),
        Tag::Link { dest_url, .. } => {
            return (
                NodeKind::Link {
                    url: dest_url.to_string(),
                },
                true,
            );
        }
        Tag::Image { dest_url, .. } => {
            return (
                NodeKind::Image {
                    url: dest_url.to_string(),
                },
                true,
            );
        }
        // What is not switched on does not come.
        _ => NodeKind::Paragraph,
    };
    (kind, false)
}

impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            NodeKind::Heading { level } => return write!(f, "heading {level}"),
            NodeKind::List { first: Some(first) } => return write!(f, "list from {first}"),
            NodeKind::CodeBlock { info } if !info.is_empty() => {
                return write!(f, "code block {}", clipped(info, 40));
            }
            NodeKind::Table { columns } => return write!(f, "table of {columns} columns"),
            NodeKind::Footnote { label } => return write!(f, "footnote {}", clipped(label, 40)),
            NodeKind::FootnoteReference { label } => {
                return write!(f, "see footnote {}", clipped(label, 40));
            }
            NodeKind::Task { done } => {
                return f.write_str(if *done { "task done" } else { "task" });
            }
            NodeKind::Link { url } => return write!(f, "link {}", clipped(url, 120)),
            NodeKind::Image { url } => return write!(f, "image {}", clipped(url, 120)),
            NodeKind::Frontmatter => "frontmatter",
            NodeKind::Paragraph => "paragraph",
            NodeKind::Quote => "quote",
            NodeKind::List { first: None } => "list",
            NodeKind::Item => "item",
            NodeKind::CodeBlock { .. } => "code block",
            NodeKind::Html => "html",
            NodeKind::TableHead => "table head",
            NodeKind::TableRow => "table row",
            NodeKind::TableCell => "table cell",
            NodeKind::Rule => "rule",
            NodeKind::Text => "text",
            NodeKind::Code => "code",
            NodeKind::Emphasis => "emphasis",
            NodeKind::Strong => "strong",
            NodeKind::Strikethrough => "strikethrough",
            NodeKind::Break => "line break",
        };
        f.write_str(name)
    }
}
