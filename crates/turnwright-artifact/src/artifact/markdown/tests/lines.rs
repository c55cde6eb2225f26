//! Line numbers of arbitrary text.

use proptest::prelude::*;

use super::*;
use crate::artifact::markdown::document::{Document, Lines};

/// Random fragments of Markdown, usually nonsense.
pub(super) fn fragments() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "# Head\n",
        "## Über *x*\n",
        "Title\n===\n",
        "text ",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "- ",
        "  - item\n",
        "1. ",
        "> ",
        "```rust\n",
        "```\n",
        "~~~\n",
        "    code\n",
        "\t",
        "[a](/u)",
        "[",
        "](/v)",
        "[b][r]",
        "[r]: /ref \"t\"\n",
        "![i](/p.png)",
        "[![i](/p)](/q)",
        "<https://x.example>",
        "https://y.example/a_b",
        "*",
        "**",
        "`",
        "~~",
        "_",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "- [x] ",
        "<div>\n",
        "<br>",
        "&amp;",
        "&#10;",
        "[^n]",
        "[^n]: note\n",
        "***\n",
        "---\n",
        "+++\n",
        "a: 1\n",
        "\u{1f600}é",
        "\\",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_line_starts_after_the_previous_newline(text in "[a\n\ré]{0,40}", repeat in prop::sample::select(vec![1_usize, 100])) {
        let text = text.repeat(repeat);
        let lines = Lines::of(&text);
        let starts: Vec<usize> = text.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some(start)
        }).collect();
        prop_assert_eq!(lines.count(), starts.len() as u64);
        for (number, start) in (0..).zip(&starts) {
            prop_assert_eq!(lines.start(number), *start);
        }
        prop_assert_eq!(lines.start(lines.count()), text.len());
        for byte in (0..text.len()).step_by(7) {
            let line = starts.partition_point(|start| *start <= byte) - 1;
            prop_assert_eq!(lines.at(byte), line as u64);
        }
    }

    #[test]
    fn every_item_is_on_the_reported_lines(text in fragments()) {
        let document = markdown(text.clone());
        let all = Document::of(text.into_bytes());
        let count = all.lines().count();
        let shown = |lines: &Range<u64>| all.slice(&all.bytes_of(lines)).to_owned();
        let inside = |lines: &Range<u64>| lines.start < lines.end && lines.end <= count;
        block_on(async {
            for heading in document.headings(..).await.unwrap() {
                prop_assert!(inside(&heading.lines) && inside(&heading.section));
                prop_assert!(heading.section.start == heading.lines.start && heading.section.end >= heading.lines.end);
                for word in ["Head", "Über", "Title", "text", "item"] {
                    prop_assert!(!heading.text.contains(word) || shown(&heading.lines).contains(word), "{:?}", heading);
                }
            }
            for block in document.code_blocks(..).await.unwrap() {
                prop_assert!(inside(&block.lines), "{:?}", block);
                prop_assert!(block.lines.start <= block.content_lines.start && block.content_lines.end <= block.lines.end, "{:?}", block);
                let lines = shown(&block.content_lines);
                let code = block.content.lines().count();
                prop_assert_eq!(lines.split_inclusive('\n').count(), code);
                for (line, code) in lines.lines().zip(block.content.lines()) {
                    // The parser may drop a carriage return that does not end a line.
                    let (line, code) = (line.replace('\r', ""), code.replace('\r', ""));
                    let code = code.trim_matches([' ', '\t']);
                    prop_assert!(line.contains(code), "{:?} {:?}", line, code);
                }
            }
            for link in document.links(..).await.unwrap() {
                prop_assert!(inside(&link.lines));
                let written = shown(&link.lines);
                prop_assert!(link.kind == "reference" || written.contains(&link.url), "{:?}", link);
            }
            for image in document.images(..).await.unwrap() {
                prop_assert!(inside(&image.lines) && shown(&image.lines).contains(&image.url), "{:?}", image);
            }
            let sections = document.sections(..).await.unwrap();
            for pair in sections.windows(2) {
                // A lone carriage return ends a line only for Markdown, so two headings may share a line.
                let first = pair[1].lines.start;
                let shared = shown(&(first..first + 1)).trim_end().contains('\r');
                prop_assert!(pair[0].lines.end <= first || shared);
            }
            Ok(())
        })?;
    }

    #[test]
    fn parts_of_a_document_give_the_same_items(text in fragments(), cut in 0_u64..40) {
        let document = markdown(text);
        block_on(async {
            macro_rules! same {
                ($ask:ident) => {{
                    let mut parts = document.$ask(..cut).await.unwrap();
                    parts.extend(document.$ask(cut..).await.unwrap());
                    prop_assert_eq!(parts, document.$ask(..).await.unwrap());
                }};
            }
            same!(headings);
            same!(sections);
            same!(code_blocks);
            same!(links);
            same!(images);
            // No empty line is shown between the parts.
            let words = |text: String| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
            let mut parts = words(document.plain_text(..cut).await.unwrap());
            parts.extend(words(document.plain_text(cut..).await.unwrap()));
            prop_assert_eq!(parts, words(document.plain_text(..).await.unwrap()));
            Ok(())
        })?;
    }
}
