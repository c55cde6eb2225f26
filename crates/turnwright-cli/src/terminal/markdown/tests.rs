use proptest::prelude::*;

use super::*;

fn text(markdown: &str, width: usize) -> String {
    anstream::adapter::strip_str(&render(markdown, width)).to_string()
}

/// The lines of a text that arrives in these pieces.
fn streamed(pieces: &[String], width: usize) -> String {
    let mut stream = MarkdownStream::default();
    let mut lines: String = pieces
        .iter()
        .map(|piece| stream.push(piece, width))
        .collect();
    lines.push_str(&stream.end(width));
    anstream::adapter::strip_str(&lines).to_string()
}

#[test]
fn emphasis_loses_its_marks_and_gets_a_style() {
    assert_eq!(text("a **b** *c* ~~d~~ `e`", 40), "│ a b c d e");
    let styled = render("**b**", 40);
    assert!(styled.contains("\u{1b}[1mb"), "{styled:?}");
    assert_eq!(render("plain text", 40), "│ plain text");
}

#[test]
fn headings_lists_and_quotes_are_laid_out() {
    let markdown =
        "# Title\n\nText\n- one\n- two\n  - deep\n\n3. three\n4. four\n\n> quoted\n\n---\n";
    let expected = "│ Title\n│\n│ Text\n│\n│ • one\n│ • two\n│   • deep\n│\n│ 3. three\n│ 4. four\n│\n│ > quoted\n│\n│ ────────────────────";
    assert_eq!(text(markdown, 22), expected);
    assert_eq!(
        text("- [x] done\n- [ ] open", 40),
        "│ • [x] done\n│ • [ ] open"
    );
}

#[test]
fn long_items_are_wrapped_behind_their_mark() {
    assert_eq!(
        text("- one two three four", 14),
        "│ • one two\n│   three four"
    );
    assert_eq!(
        text("10. one two three", 12),
        "│ 10. one\n│     two\n│     three"
    );
}

#[test]
fn tables_are_aligned_and_wrapped() {
    let table = "| Name | Size |\n| --- | ---: |\n| a | 1 |\n| long name | 200 |\n";
    let expected = "│ Name      │ Size\n│ ──────────┼─────\n│ a         │    1\n│ long name │  200";
    assert_eq!(text(table, 40), expected);
    let narrow = text(table, 16);
    assert!(narrow.lines().all(|line| columns(line) <= 16), "{narrow}");
    assert!(
        narrow.contains("long") && narrow.contains("200"),
        "{narrow}"
    );
    // A table with more columns than fit is a list of its cells.
    let wide = format!(
        "|{}\n|{}\n|{}\n",
        "h|".repeat(20),
        "-|".repeat(20),
        "c|".repeat(20)
    );
    assert!(text(&wide, 20).lines().all(|line| columns(line) <= 20));
}

#[test]
fn code_keeps_every_space() {
    let markdown = "```rust\nfn main() {\n    let x = \"a  b\"; // c\n\n}\n```\n";
    assert_eq!(
        text(markdown, 60),
        "│   fn main() {\n│       let x = \"a  b\"; // c\n│\n│   }"
    );
    assert_eq!(text("```\n0123456789\n```", 10), "│   012345\n│   6789");
}

#[test]
fn the_target_of_a_link_is_shown() {
    assert_eq!(
        text("[here](http://example.org/)", 60),
        "│ here (http://example.org/)"
    );
    assert_eq!(text("<http://example.org/>", 60), "│ http://example.org/");
    assert_eq!(
        text("![cat](http://example.org/c.png)", 60),
        "│ image: cat (http://example.org/c.png)"
    );
}

#[test]
fn control_characters_of_entities_are_escaped() {
    for markdown in [
        "&#27;[2J",
        "`&#27;` \u{1b}[2J",
        "[a](http://x/&#27;[2J)",
        "| a |\n| --- |\n| &#x202e;b |",
        "```\n\u{1b}[2J\u{9b}\n```",
        "# &#x9b;1A",
    ] {
        let shown = text(markdown, 60);
        let harmful = |ch: char| ch.is_control() && ch != '\n' || ch == '\u{202e}';
        assert!(!shown.contains(harmful), "{markdown:?}: {shown:?}");
        let styled = render(markdown, 60);
        assert!(
            !styled.contains("\u{1b}[2J") && !styled.contains('\u{9b}'),
            "{styled:?}"
        );
    }
}

#[test]
fn blocks_appear_when_they_are_complete() {
    let mut stream = MarkdownStream::default();
    let mut push = |piece: &str| anstream::adapter::strip_str(&stream.push(piece, 40)).to_string();
    assert_eq!(push("# Ti"), "");
    assert_eq!(push("tle\nSome **bold** te"), "│ Title\n");
    assert_eq!(push("xt\n"), "");
    assert_eq!(push("\n"), "│\n│ Some bold text\n");
    // Lists by item, however long they are.
    assert_eq!(push("1. one\n1. two\n"), "│\n│ 1. one\n");
    assert_eq!(push("\n1. three\n"), "│ 2. two\n");
    // Code by line.
    assert_eq!(
        push("```rust\nlet a = 1;\nlet b"),
        "│ 3. three\n│\n│   let a = 1;\n"
    );
    assert_eq!(push(" = 2;\n"), "│   let b = 2;\n");
    assert_eq!(push("```\n\n| a | b |\n| - | - |\n| c | d |\n"), "");
    assert_eq!(push("\nend"), "│\n│ a │ b\n│ ──┼──\n│ c │ d\n");
    assert_eq!(stream.end(40), "│\n│ end\n");
}

/// Pieces of Markdown, many of them incomplete or hostile.
fn pieces() -> impl Strategy<Value = Vec<String>> {
    let parts = prop::sample::select(vec![
        "# ",
        "## t",
        "- ",
        "1. ",
        "> ",
        "```",
        "```rust\n",
        "fn a() {}\n",
        "**",
        "*",
        "`",
        "| a | b |\n",
        "| - | -: |\n",
        "---\n",
        "\n",
        "\n\n",
        "    ",
        "  ",
        " ",
        "word",
        "東京",
        "👩\u{200d}🔬",
        "[a](b)",
        "![c](d)",
        "<b>",
        "&#27;[2J",
        "\u{1b}[2J",
        "\u{9b}",
        "\r",
        "\t",
        "? write_note needs approval\n",
        "you › ",
        "\u{a0}",
        "\\",
        "~~",
        "- [ ] ",
        "&#10;",
        "<!-- x -->\n",
    ]);
    let part = (parts, 1_usize..4).prop_map(|(part, times)| part.repeat(times));
    prop::collection::vec(part, 1..40)
}

proptest! {

    #[test]
    fn every_line_has_the_margin_and_fits(pieces in pieces(), width in 6_usize..100) {
        let complete = text(&pieces.concat(), width);
        for shown in [streamed(&pieces, width), complete] {
            for line in shown.lines() {
                prop_assert!(line.starts_with('│'), "{:?}", line);
                prop_assert!(columns(line) <= width, "{:?} of {:?}", line, pieces);
            }
            prop_assert!(!shown.contains(|ch: char| ch.is_control() && ch != '\n'), "{:?}", shown);
        }
    }

    #[test]
    fn a_streamed_text_is_rendered_like_a_complete_one(pieces in prop::collection::vec("[a-z*` #\n-]{1,8}", 1..20)) {
        let shown = streamed(&pieces, 60);
        let complete = text(&pieces.concat(), 60);
        prop_assert_eq!(shown.trim_end(), complete.trim_end(), "{:?}", pieces);
    }
}
