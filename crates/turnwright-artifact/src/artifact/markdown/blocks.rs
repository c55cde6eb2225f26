//! Code blocks.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use serde::Serialize;

use super::document::Document;

/// A fenced or indented code block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CodeBlock {
    /// The first word of the info string, if any.
    pub language: Option<String>,
    /// The info string after the opening fence. Empty for an indented block.
    pub info: String,
    /// The lines of the block, including the fences.
    pub lines: Range<u64>,
    /// The lines of the code.
    pub content_lines: Range<u64>,
    /// The code, without indentation and quote markers, with `\n` line endings.
    pub content: String,
}

/// Calls `sink` for the code blocks that start within these bytes.
pub(super) fn code_blocks(
    document: &Document,
    within: &Range<usize>,
    sink: &mut dyn FnMut(CodeBlock),
) {
    let mut open: Option<CodeBlock> = None;
    for (event, bytes) in document.events() {
        match event {
            _ if bytes.start >= within.end && open.is_none() => break,
            Event::Start(Tag::CodeBlock(kind)) if within.contains(&bytes.start) => {
                open = Some(begun(document, &kind, &bytes));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some(mut block) = open.take() {
                    let first = block.content_lines.start;
                    block.content_lines.end = first + block.content.lines().count() as u64;
                    sink(block);
                }
            }
            Event::Text(text) => {
                if let Some(block) = &mut open {
                    block.content.push_str(&text);
                }
            }
            _ => {}
        }
    }
}

fn begun(document: &Document, kind: &CodeBlockKind<'_>, bytes: &Range<usize>) -> CodeBlock {
    let (info, lines, fence) = match kind {
        // If the closing fence is missing, trailing blank lines belong to the code.
        CodeBlockKind::Fenced(info) => (info.trim(), document.exact_lines_of(bytes), 1),
        CodeBlockKind::Indented => ("", document.lines_of(bytes), 0),
    };
    let first = (lines.start + fence).min(lines.end);
    CodeBlock {
        language: info.split_whitespace().next().map(str::to_owned),
        info: info.to_owned(),
        content_lines: first..first,
        lines,
        content: String::new(),
    }
}
