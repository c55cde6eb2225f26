//! Items and their lines.

use super::*;
use crate::artifact::markdown::SectionName;

#[tokio::test]
async fn headings_have_their_lines_and_sections() {
    let text = "# One\n\ntext\n\n## Two *and* `more`\n\nTitle\nof two lines\n===\n\n### Deep\n#\n";
    let headings = markdown(text).headings(..).await.unwrap();
    let reply: Vec<_> = headings
        .iter()
        .map(|h| (h.level, h.text.as_str(), h.lines.clone(), h.section.clone()))
        .collect();
    assert_eq!(
        reply,
        [
            (1, "One", 0..1, 0..6),
            (2, "Two and more", 4..5, 4..6),
            (1, "Title of two lines", 6..9, 6..11),
            (3, "Deep", 10..11, 10..11),
            (1, "", 11..12, 11..12),
        ]
    );
    let some = markdown(text).headings(4..=6).await.unwrap();
    assert_eq!(some, headings[1..3]);
    assert_eq!(markdown(text).headings(12..).await.unwrap(), []);
}

#[tokio::test]
async fn lines_are_the_same_with_crlf_and_without_a_final_newline() {
    let text = "# One\n\nSet\n---\n\n```rust\nlet a;\n\n```\n\n[l](u)";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let document = markdown(text);
        let headings = document.headings(..).await.unwrap();
        assert_eq!(headings[0].lines, 0..1);
        assert_eq!(headings[1].lines, 2..4);
        assert_eq!(headings[1].section, 2..11);
        let code = document.code_blocks(..).await.unwrap();
        assert_eq!(code[0].lines, 5..9);
        assert_eq!(code[0].content_lines, 6..8);
        assert_eq!(code[0].content, "let a;\n\n");
        assert_eq!(document.links(..).await.unwrap()[0].lines, 10..11);
    }
}

#[tokio::test]
async fn a_heading_in_a_quote_has_a_section_that_ends_with_the_quote() {
    let text = "# A\n\n> # Q\n> said\n\nrest\n\n- # L\n\n  item\n- next\n\n# B\n";
    let headings = markdown(text).headings(..).await.unwrap();
    let reply: Vec<_> = headings
        .iter()
        .map(|h| (h.text.as_str(), h.section.clone()))
        .collect();
    assert_eq!(
        reply,
        [("A", 0..12), ("Q", 2..4), ("L", 7..10), ("B", 12..13)]
    );
    let sections = markdown(text).sections(..).await.unwrap();
    let reply: Vec<_> = sections.iter().map(|s| s.lines.clone()).collect();
    assert_eq!(reply, [0..12, 12..13], "enclosed headings do not split");
}

#[tokio::test]
async fn sections_contain_each_line_once() {
    let text = "before\n# A\na\n## B\nb\n# C\n";
    let sections = markdown(text).sections(..).await.unwrap();
    let reply: Vec<_> = sections.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(reply, ["# A\na\n", "## B\nb\n", "# C\n"]);
}

#[tokio::test]
async fn a_section_is_selected_by_exact_case_insensitive_or_partial_name_or_by_line() {
    let text = "# Setup\n\n## Install\nx\n\n## install\ny\n\n## Installing it\nz\n\n# Use\n";
    let document = markdown(text);
    let lines = async |name: SectionName| document.section(name).await.map(|s| s.lines);
    assert_eq!(lines("Install".into()).await.unwrap(), 2..5);
    assert_eq!(lines("## install".into()).await.unwrap(), 5..8);
    assert_eq!(
        lines("SETUP".into()).await.unwrap(),
        0..11,
        "with what is below it"
    );
    assert_eq!(lines("ing".into()).await.unwrap(), 8..11);
    assert_eq!(lines(SectionName::Line(5)).await.unwrap(), 5..8);
    assert_eq!(document.section("use").await.unwrap().text, "# Use\n");

    let error = lines("INSTALL".into()).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_QUERY);
    assert_eq!(
        error.model_text(),
        "2 headings match. Select one with `line`: line=2 (level 2) \"Install\"; line=5 (level 2) \"install\"."
    );
    let error = lines(SectionName::Line(3)).await.unwrap_err();
    assert!(
        error
            .model_text()
            .contains("nearest heading above is line=2 (level 2) \"Install\""),
        "{error}"
    );
    let error = lines("nothing".into()).await.unwrap_err();
    assert!(
        error
            .model_text()
            .contains("Use artifact_md_headings to list all"),
        "{error}"
    );
    assert_eq!(
        code_of(lines(" # ".into()).await),
        ErrorCode::ARTIFACT_QUERY
    );
}

#[tokio::test]
async fn code_blocks_are_found_in_quotes_and_lists() {
    let text = "~~~\nplain\n~~~\n\n> ```rust ignore\n> fn a() {}\n> ```\n\n- item\n\n  ```\n  in item\n\n  ```\n\n    indented\n\n    code\n\nend\n\n```js\nnever closed\n\n";
    let found = markdown(text).code_blocks(..).await.unwrap();
    let reply: Vec<_> = found
        .iter()
        .map(|b| {
            (
                b.language.as_deref(),
                b.lines.clone(),
                b.content_lines.clone(),
                b.content.as_str(),
            )
        })
        .collect();
    assert_eq!(
        reply,
        [
            (None, 0..3, 1..2, "plain\n"),
            (Some("rust"), 4..7, 5..6, "fn a() {}\n"),
            (None, 10..14, 11..13, "in item\n\n"),
            (Some("js"), 21..24, 22..24, "never closed\n\n"),
        ],
    );
    assert_eq!(found[1].info, "rust ignore");
    let indented = markdown("para\n\n    a\n\n      b\n\nc\n")
        .code_blocks(..)
        .await
        .unwrap();
    assert_eq!(
        (indented[0].lines.clone(), indented[0].content_lines.clone()),
        (2..5, 2..5)
    );
    assert_eq!(indented[0].content, "a\n\n  b\n");
}

#[tokio::test]
async fn links_in_every_syntax_are_found() {
    let text = "[a *b*](/u \"T\") and\n[ref][r], [r][], [r]\n<https://auto.example> <me@example.org>\n\n\
        [![alt](/i.png)](/to) `https://no.example` ![ [x](/y) ](/z)\n[two\nlines](/l)\n\n    https://code.example\n\n[r]: /ref 'R'\n";
    let links = markdown(text).links(..).await.unwrap();
    let reply: Vec<_> = links
        .iter()
        .map(|l| {
            (
                l.kind,
                l.text.as_str(),
                l.url.as_str(),
                l.title.as_deref(),
                l.lines.clone(),
            )
        })
        .collect();
    assert_eq!(
        reply,
        [
            ("inline", "a b", "/u", Some("T"), 0..1),
            ("reference", "ref", "/ref", Some("R"), 1..2),
            ("reference", "r", "/ref", Some("R"), 1..2),
            ("reference", "r", "/ref", Some("R"), 1..2),
            (
                "autolink",
                "https://auto.example",
                "https://auto.example",
                None,
                2..3
            ),
            ("email", "me@example.org", "me@example.org", None, 2..3),
            ("inline", "alt", "/to", None, 4..5),
            ("inline", "two lines", "/l", None, 5..7),
        ]
    );
    assert_eq!(markdown(text).links(1..2).await.unwrap(), links[1..4]);
    let begins_before = markdown("[https://a.example\nhttps://b.example](/u)\n");
    assert_eq!(begins_before.links(1..).await.unwrap(), []);
}

#[tokio::test]
async fn bare_urls_end_before_punctuation() {
    for (text, urls) in [
        (
            "See https://a.example/b_c_d*e?x=1&y=2.",
            &["https://a.example/b_c_d*e?x=1&y=2"][..],
        ),
        (
            "(see HTTP://a.example/w_(x)), or",
            &["HTTP://a.example/w_(x)"],
        ),
        (
            "https://a.example/ü, https://b.example!",
            &["https://a.example/ü", "https://b.example"],
        ),
        (
            "xhttps://a.example and ftp://b.example and https:// and http://.",
            &[],
        ),
        (
            "**https://a.example** | _https://b.example_",
            &["https://a.example", "https://b.example"],
        ),
        ("<div>https://html.example</div>", &[]),
    ] {
        let links = markdown(text).links(..).await.unwrap();
        assert!(
            links
                .iter()
                .all(|link| link.kind == "bare" && link.text == link.url)
        );
        let found: Vec<_> = links.iter().map(|link| link.url.as_str()).collect();
        assert_eq!(found, urls, "{text}");
    }
}

#[tokio::test]
async fn images_are_found_in_links_but_not_in_alternative_texts() {
    let text = "![a `b`](/1 \"t\")\n[![in link](/2)](/to)\n![out ![in](/4)\nside][3]\n\n[3]: /3\n";
    let images = markdown(text).images(..).await.unwrap();
    let reply: Vec<_> = images
        .iter()
        .map(|i| {
            (
                i.text.as_str(),
                i.url.as_str(),
                i.title.as_deref(),
                i.lines.clone(),
            )
        })
        .collect();
    assert_eq!(
        reply,
        [
            ("a b", "/1", Some("t"), 0..1),
            ("in link", "/2", None, 1..2),
            ("out in side", "/3", None, 2..4),
        ]
    );
}

#[tokio::test]
async fn plain_text_keeps_the_lines() {
    let text = "---\nt: 1\n---\n# Head *er*\n\nA [link](/u) and ![image](/i)\nwent &amp; `on`.\n\n1. one\n   - [x] done\n   - [ ] ~~not~~\n2. two\n\n\
        | a | b |\n|---|---|\n| 1 | 2 |\n\n> quote[^n]\n\n```sh\nx\n\n\ny\n```\n<p>gone</p>\n\n[^n]: Note\n";
    let plain = markdown(text).plain_text(..).await.unwrap();
    assert_eq!(
        plain,
        "Head er\n\nA link and image\nwent & on.\n\n1. one\n  - [x] done\n  - [ ] not\n2. two\n\na | b\n\n1 | 2\n\nquote[^n]\n\nx\n\n\ny\n\n[^n]: Note\n"
    );
    assert_eq!(
        markdown(text).plain_text(6..9).await.unwrap(),
        "went & on.\n\n1. one\n"
    );
    assert_eq!(
        markdown(text).plain_text(23..24).await.unwrap(),
        "y\n",
        "within a block of code"
    );
    let one_line = markdown("-     code\n").plain_text(..).await.unwrap();
    assert_eq!(one_line, "- code\n", "a line occurs once");
    let reply = answer(text, "artifact_md_text", json!({"start": 24})).await;
    assert_eq!(
        reply,
        "[^n]: Note\n[HTML was omitted: use artifact_cat to read it]"
    );
}

#[tokio::test]
async fn items_can_be_serialised() {
    let document = markdown("# A\n\n[l](/u)\n");
    let headings = document.headings(..).await.unwrap();
    let reply = serde_json::to_value(&headings).unwrap();
    let lines = |start, end| json!({"start": start, "end": end});
    assert_eq!(
        reply,
        json!([{"level": 1, "text": "A", "lines": lines(0, 1), "section": lines(0, 3)}])
    );
}
