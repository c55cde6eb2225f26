//! Size limits of answers, and how to continue.

use proptest::prelude::*;

use super::lines::fragments;
use super::*;
use crate::artifact::markdown::queries::{CodeBlocks, Headings, Listed, OnLines, SectionOf};
use crate::schema::Schema;

/// The argument that continues after a page, by its note.
fn next(reply: &str) -> Option<(&str, u64)> {
    let notes = reply.lines().rev().filter(|line| line.starts_with('['));
    let mut rest = notes.filter_map(|note| note.split("continue with ").nth(1));
    let (key, value) = rest.find_map(|rest| rest.split_once('='))?;
    let digits = value.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((key, digits.parse().ok()?))
}

/// All pages of a tool's answers, without the notes.
async fn all_pages(artifact: &SpooledArtifact, name: &str, args: &Value) -> (Vec<String>, usize) {
    let (mut reply, mut pages) = (Vec::new(), 0);
    let mut args = args.clone();
    loop {
        let page = asked(artifact, name, args.clone()).await.unwrap();
        assert!(page.len() <= artifact.limits().page, "{name}");
        pages += 1;
        reply.extend(
            page.lines()
                .filter(|line| !line.starts_with('['))
                .map(str::to_owned),
        );
        let Some((key, value)) = next(&page) else {
            return (reply, pages);
        };
        assert!(args[key] != value, "the next page is another one: {page}");
        args[key] = value.into();
    }
}

fn small(text: String) -> SpooledArtifact {
    artifact(text).with_limits(ArtifactLimits::default().page(1024))
}

#[tokio::test]
async fn following_the_notes_shows_every_item_once() {
    let mut text = String::new();
    for n in 0..200 {
        writeln!(
            text,
            "# Heading {n}\n\n[l{n}](/{n}) ![i{n}](/i{n}) [m{n}](/m{n})\n\n```x\nlet a{n};\n```\n"
        )
        .unwrap();
    }
    text.push_str(&"[same](/line) ".repeat(100));
    let artifact = small(text);
    for (name, items) in [
        ("artifact_md_headings", 200),
        ("artifact_md_links", 500),
        ("artifact_md_images", 200),
    ] {
        let (reply, pages) = all_pages(&artifact, name, &json!({})).await;
        assert_eq!(reply.len(), items, "{name}");
        assert!(pages > 10, "{name}");
    }
    let (code, _) = all_pages(&artifact, "artifact_md_code_blocks", &json!({"lang": "X"})).await;
    let lines: Vec<_> = code
        .iter()
        .filter(|line| line.starts_with("let a"))
        .collect();
    assert_eq!(lines.len(), 200);
    assert_eq!(lines[199], "let a199;");
    let (text, _) = all_pages(&artifact, "artifact_md_text", &json!({})).await;
    assert_eq!(
        text.iter().filter(|line| line.starts_with("let a")).count(),
        200
    );
}

#[tokio::test]
async fn a_note_has_the_number_of_items_and_how_to_continue() {
    let artifact = small("## A heading of some length\n".repeat(50));
    let reply = asked(&artifact, "artifact_md_headings", json!({"end": 30}))
        .await
        .unwrap();
    assert!(reply.starts_with("lines 0..1: ## A heading of some length (section: lines 0..1)\n"));
    assert!(
        reply.ends_with(
            "[headings 1 to 8 of 30; continue with skip=8 and the same other arguments]"
        ),
        "{reply}"
    );
    let reply = asked(&artifact, "artifact_md_headings", json!({"level": 1}))
        .await
        .unwrap();
    assert_eq!(
        reply,
        "No headings up to this level in lines 0..50 (the document has 50 lines)."
    );
    let reply = asked(&artifact, "artifact_md_headings", json!({"skip": u64::MAX})).await;
    assert!(reply.unwrap().contains("Nothing left after skip"));
    let artifact = small("```rust\nx\n```\n```sh\ny\n```\n".to_owned());
    let reply = asked(
        &artifact,
        "artifact_md_code_blocks",
        json!({"lang": "python"}),
    )
    .await
    .unwrap();
    assert_eq!(
        reply,
        "No code blocks in this language in lines 0..6 (the document has 6 lines).\n\
         [available languages: \"rust\", \"sh\"]"
    );
}

#[tokio::test]
async fn a_truncated_section_or_block_says_how_to_read_the_rest() {
    let body: String = (0..100)
        .map(|n| format!("line {n} of the text\n"))
        .collect();
    let artifact = small(format!(
        "# A\n{body}# B\n\n```sh\n{body}```\n\n```\nlast\n```\n"
    ));
    let reply = asked(&artifact, "artifact_md_section", json!({"heading": "a"}))
        .await
        .unwrap();
    assert!(
        reply.starts_with("lines 0..101:\n# A\nline 0 of the text\n"),
        "{reply}"
    );
    let shown = reply.lines().count() as u64 - 2;
    assert!(
        reply.ends_with(&format!(
            "[truncated: continue with artifact_cat start={shown} end=101]"
        )),
        "{reply}"
    );

    let reply = asked(&artifact, "artifact_md_code_blocks", json!({}))
        .await
        .unwrap();
    let shown = reply
        .lines()
        .filter(|line| line.starts_with("line "))
        .count() as u64;
    let rest = format!(
        "[the block is truncated: read it with artifact_cat start={} end=204]",
        104 + shown
    );
    assert!(reply.contains(&rest), "{reply}");
    assert!(
        reply.contains(
            "[code blocks 1 to 1 of 2; continue with skip=1 and the same other arguments]"
        ),
        "{reply}"
    );
    let reply = asked(&artifact, "artifact_md_code_blocks", json!({"skip": 1}))
        .await
        .unwrap();
    assert_eq!(reply, "lines 206..209:\nlast");
}

#[tokio::test]
async fn a_line_longer_than_a_page_is_truncated_with_a_note() {
    let artifact = small(format!("# A\n\n{}\n\nnext\n", "é".repeat(2000)));
    let reply = asked(&artifact, "artifact_md_text", json!({"start": 1}))
        .await
        .unwrap();
    assert!(
        reply.contains("line 2 is truncated after 510 bytes"),
        "{reply}"
    );
    assert_eq!(next(&reply), Some(("start", 3)));
    let artifact = small(format!("{}\n===\n", "é".repeat(2000)));
    let reply = asked(&artifact, "artifact_md_section", json!({"line": 1}))
        .await
        .unwrap();
    assert!(reply.contains("[line 0 is truncated after "), "{reply}");
    assert!(
        reply.contains("continue with artifact_cat start=1 end=2]"),
        "{reply}"
    );
}

#[test]
fn the_schemas_are_closed_with_limits_and_defaults() {
    let document =
        |schema: Result<Schema, crate::schema::SchemaError>| schema.unwrap().document().clone();
    let headings = document(Schema::of::<Headings>());
    assert_eq!(headings["additionalProperties"], json!(false));
    assert_eq!(
        headings["required"],
        Value::Null,
        "every argument is optional"
    );
    let level = &headings["properties"]["level"];
    assert_eq!(
        (&level["minimum"], &level["maximum"], &level["default"]),
        (&json!(1), &json!(6), &json!(6))
    );
    for document in [
        headings,
        document(Schema::of::<CodeBlocks>()),
        document(Schema::of::<Listed>()),
        document(Schema::of::<OnLines>()),
        document(Schema::of::<SectionOf>()),
    ] {
        for (name, property) in document["properties"].as_object().unwrap() {
            assert!(
                property["description"].is_string()
                    && !["callId", "index"].contains(&name.as_str()),
                "{name}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn pages_stay_within_the_limit_and_show_what_one_large_page_would(text in fragments(), times in 1_usize..10) {
        let text = text.repeat(times);
        let (narrow, wide) = (small(text.clone()), artifact(text).with_limits(ArtifactLimits::default().page(1 << 24)));
        block_on(async {
            for (name, args) in [
                ("artifact_md_headings", json!({})),
                ("artifact_md_links", json!({})),
                ("artifact_md_images", json!({})),
            ] {
                let (reply, _) = all_pages(&narrow, name, &args).await;
                let (on_one_page, pages) = all_pages(&wide, name, &args).await;
                prop_assert_eq!(pages, 1);
                // A long item is clipped on a small page, but not on a large one.
                let clipped = |items: &[String]| items.iter().any(|item| item.contains('…'));
                if clipped(&reply) && !clipped(&on_one_page) {
                    prop_assert_eq!(reply.len(), on_one_page.len());
                    continue;
                }
                prop_assert_eq!(reply, on_one_page);
            }
            for name in ["artifact_md_text", "artifact_md_code_blocks", "artifact_md_section"] {
                let args = if name == "artifact_md_section" { json!({"heading": "e"}) } else { json!({}) };
                if let Ok(reply) = asked(&narrow, name, args).await {
                    prop_assert!(reply.len() <= 1024);
                }
            }
            Ok(())
        })?;
    }
}
