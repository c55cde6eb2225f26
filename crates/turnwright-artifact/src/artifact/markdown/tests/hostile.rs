//! Invalid, huge or malicious content.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::*;
use crate::spool::ByteReader;

const ALL: [&str; 6] = [
    "artifact_md_frontmatter",
    "artifact_md_headings",
    "artifact_md_code_blocks",
    "artifact_md_links",
    "artifact_md_images",
    "artifact_md_text",
];

async fn all_answers_are_short(text: String, names: &[&str]) {
    let artifact = artifact(text);
    for name in names {
        let reply = asked(&artifact, name, json!({})).await.unwrap();
        assert!(reply.len() <= 8 * 1024 && !reply.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn nested_quotes_and_lists_are_parsed_in_bounded_time() {
    let n = 100_000;
    let lazy = "b\n".repeat(5_000);
    for text in [
        ">".repeat(n) + "a\n" + &lazy,
        "- ".repeat(n) + "a\n" + &lazy,
        "> 1. ".repeat(n) + "a\n" + &lazy,
        "[^a]: ".repeat(20) + &"> ".repeat(n) + "a\n" + &lazy,
        "- [ ] ".to_owned() + &"> ".repeat(n) + "a\n" + &lazy,
        "\t- ".repeat(n) + "a\n" + &lazy,
    ] {
        all_answers_are_short(text, &["artifact_md_headings", "artifact_md_text"]).await;
    }
}

#[tokio::test]
async fn unclosed_and_nested_markup_is_answered() {
    let n = 20_000;
    for text in [
        "[".repeat(5 * n),
        "*".repeat(5 * n) + "a" + &"*".repeat(n),
        "![".repeat(n) + "a" + &"](u)".repeat(n),
        "*a ".repeat(n) + &"a* ".repeat(n),
        "`a``".repeat(n),
        "ahttp://".repeat(n),
        "http://a".repeat(n),
        "\r".repeat(n) + &"# a\r".repeat(n),
        "<!--".repeat(n),
        "|a".repeat(n) + "\n" + &"|-".repeat(n) + "\n|x\n",
    ] {
        all_answers_are_short(text, &ALL).await;
    }
}

#[tokio::test]
async fn excessive_nesting_is_treated_as_text_with_a_note() {
    let text = format!(
        "{}a\n\n# H\n\n```\n{}\n```\n",
        "> ".repeat(300),
        ">".repeat(300)
    );
    let reply = answer(&text, "artifact_md_headings", json!({})).await;
    assert!(
        reply.contains("Quotes and lists beyond column 200 are treated as plain text"),
        "{reply}"
    );
    let document = markdown(text);
    let code = document.code_blocks(..).await.unwrap();
    assert_eq!(
        code[0].content,
        ">".repeat(300) + "\n",
        "code is shown unchanged"
    );
    assert_eq!(document.headings(..).await.unwrap()[0].lines, 2..3);
}

#[tokio::test]
async fn invalid_utf_8_keeps_its_line_numbers() {
    let text = b"\xff\xfe\n# H\xe2\x82\n\n\xf0\x9f\n[l](u)\n";
    let document = markdown(&text[..]);
    let headings = document.headings(..).await.unwrap();
    assert_eq!(
        (headings[0].text.as_str(), headings[0].lines.clone()),
        ("H\u{fffd}", 1..2)
    );
    assert_eq!(document.links(..).await.unwrap()[0].lines, 4..5);
    let reply = asked(&document.0, "artifact_md_headings", json!({}))
        .await
        .unwrap();
    assert!(reply.contains("Invalid UTF-8"), "{reply}");
}

#[tokio::test]
async fn the_error_for_a_large_document_names_the_text_tools() {
    let limits = ArtifactLimits::default().parse(4);
    let document = SpooledMarkdownArtifact::new(artifact("# A\n\n").with_limits(limits));
    let error = document.headings(..).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_TOO_LARGE);
    for name in ["artifact_grep", "artifact_cat"] {
        assert!(error.model_text().contains(name), "{error}");
    }
    let document = SpooledMarkdownArtifact::new(artifact("# A\n").with_limits(limits));
    assert_eq!(document.headings(..).await.unwrap().len(), 1);
}

#[tokio::test]
async fn empty_content_has_no_items() {
    for name in ALL {
        let reply = answer("", name, json!({})).await;
        assert!(
            reply.contains("No ") || reply.contains("no "),
            "{name}: {reply}"
        );
    }
    let error = asked(&artifact(""), "artifact_md_section", json!({"line": 0}))
        .await
        .unwrap_err();
    assert!(
        error.model_text().starts_with("Line 0 is not a heading."),
        "{error}"
    );
}

#[derive(Debug)]
struct BreaksOff;

#[async_trait]
impl ByteReader for BreaksOff {
    fn len(&self) -> u64 {
        3 * 1024 * 1024
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        if range.end > 2 * 1024 * 1024 {
            return Err(io::Error::other("connection lost"));
        }
        Ok(vec![b'#'; (range.end - range.start) as usize].into())
    }

    fn read_now(&self, _at: u64, _into: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }
}

#[tokio::test]
async fn a_read_error_midway_has_its_position() {
    let broken = SpooledArtifact::new(Arc::new(BreaksOff), ArtifactKind::MARKDOWN);
    let error = asked(&broken, "artifact_md_headings", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Unavailable);
    assert!(
        error.model_text().contains("at byte 2097152 of 3145728"),
        "{error}"
    );
    let document = SpooledMarkdownArtifact::new(broken);
    assert_eq!(
        code_of(document.plain_text(..).await),
        ErrorCode::ARTIFACT_UNREADABLE
    );
}
