use std::num::NonZero;

use proptest::prelude::*;

use super::*;

fn text(markdown: &str, width: usize) -> String {
    anstream::adapter::strip_str(&render(markdown, width)).to_string()
}

/// The rows of a terminal after these pieces were streamed to it.
fn streamed(pieces: &[&str], width: u16, height: u16) -> Vec<String> {
    let size = |number| NonZero::new(number).unwrap();
    let mut terminal = vt100::Parser::new(size(height), size(width), 1_000);
    let mut show = |update: Update| {
        if let Some(rows) = update.erase {
            terminal.process(b"\r");
            if rows > 0 {
                terminal.process(format!("\x1b[{rows}A").as_bytes());
            }
            terminal.process(b"\x1b[J");
        }
        terminal.process(update.text.replace('\n', "\r\n").as_bytes());
    };
    let mut stream = MarkdownStream::new();
    let (columns, lines) = (usize::from(width), usize::from(height));
    for piece in pieces {
        show(stream.push(piece, columns, lines));
    }
    show(stream.end(columns, lines));
    let rows = terminal.screen().rows(0, width);
    let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
    let last = rows.iter().rposition(|row| !row.is_empty());
    rows.into_iter()
        .take(last.map_or(0, |last| last + 1))
        .collect()
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
    let expected = "│ Title\n│\n│ Text\n│ • one\n│ • two\n│   • deep\n│\n│ 3. three\n│ 4. four\n│\n│ > quoted\n│\n│ ────────────────────";
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
fn code_keeps_every_space_and_is_highlighted() {
    let markdown = "```rust\nfn main() {\n    let x = \"a  b\"; // c\n}\n```\n";
    assert_eq!(
        text(markdown, 60),
        "│   fn main() {\n│       let x = \"a  b\"; // c\n│   }"
    );
    let styled = render(markdown, 60);
    assert!(styled.contains("\u{1b}["), "{styled:?}");
    // An unknown language, and none, have no colours.
    for language in ["", "no-such-language"] {
        let plain = render(&format!("```{language}\nfn main() {{}}\n```"), 60);
        assert_eq!(plain, "│   fn main() {}");
    }
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
fn a_live_block_is_replaced_by_its_rendered_form() {
    let mut stream = MarkdownStream::new();
    let update = stream.push("Some **bold** te", 40, 24);
    assert_eq!(
        (update.erase, update.text.as_str()),
        (None, "│ Some **bold**")
    );
    let update = stream.push("xt\n", 40, 24);
    assert_eq!((update.erase, update.text.as_str()), (None, " text\n"));
    let update = stream.push("\nNext", 40, 24);
    assert_eq!(update.erase, Some(1));
    assert!(
        update
            .text
            .starts_with("│ Some \u{1b}[1mbold\u{1b}[0m text\n│\n"),
        "{update:?}"
    );
    let update = stream.end(40, 24);
    assert_eq!(
        (update.erase, update.text.as_str()),
        (Some(1), "│\n│ Next\n")
    );
}

#[test]
fn code_is_rendered_line_by_line() {
    let mut stream = MarkdownStream::new();
    stream.push("```rust\nlet a = 1;\nlet b", 40, 24);
    let update = stream.push(" = 2;\nlet", 40, 24);
    let shown = anstream::adapter::strip_str(&update.text).to_string();
    assert_eq!(shown, "│   let b = 2;\n");
    assert_eq!(update.erase, Some(0));
}

#[test]
fn the_items_of_a_list_are_rendered_one_by_one() {
    let rows = streamed(&["1. **one**\n", "1. two\n", "1. three"], 40, 24);
    assert_eq!(rows, ["│ 1. one", "│ 2. two", "│ 3. three"]);
}

#[test]
fn a_block_that_has_left_the_window_stays_as_it_is() {
    let table = "| a | b |\n| - | - |\n".to_owned() + &"| c | d |\n".repeat(20) + "\n**end**\n";
    let pieces: Vec<&str> = table.split_inclusive('\n').collect();
    let rows = streamed(&pieces, 40, 10);
    assert_eq!(rows.last().map(String::as_str), Some("│ end"));
    assert!(
        rows.iter()
            .all(|row| row.is_empty() || row.starts_with('│')),
        "{rows:#?}"
    );
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
    fn every_row_has_the_margin_and_fits(pieces in pieces(), width in 6_u16..100, height in 4_u16..60) {
        let refs: Vec<&str> = pieces.iter().map(String::as_str).collect();
        for row in streamed(&refs, width, height) {
            prop_assert!(row.starts_with('│'), "{:?} of {:?}", row, pieces);
        }
        let full = render(&pieces.concat(), usize::from(width));
        let shown = anstream::adapter::strip_str(&full).to_string();
        for line in shown.lines() {
            prop_assert!(line.starts_with('│'), "{:?}", line);
            prop_assert!(columns(line) <= usize::from(width), "{:?} of {:?}", line, pieces);
        }
        prop_assert!(!shown.contains(|ch: char| ch.is_control() && ch != '\n'), "{:?}", shown);
    }

    #[test]
    fn a_streamed_text_ends_up_like_a_complete_one(pieces in prop::collection::vec("[a-z*` #\n-]{1,8}", 1..20)) {
        let complete = pieces.concat();
        let refs: Vec<&str> = pieces.iter().map(String::as_str).collect();
        // High enough that nothing leaves the window.
        let rows = streamed(&refs, 60, 400);
        let expected = text(&complete, 60);
        let expected: Vec<&str> = expected.lines().map(str::trim_end).collect();
        prop_assert_eq!(rows, expected, "{:?}", complete);
    }
}
