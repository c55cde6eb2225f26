//! Frontmatter.

use super::*;

#[tokio::test]
async fn frontmatter_has_its_source_and_lines_and_is_not_markdown() {
    for text in [
        "---\ntitle: A\n---\n# H\n",
        "\u{feff}---  \r\ntitle: A\r\n...\r\n# H\r\n",
    ] {
        let document = markdown(text);
        let found = document.frontmatter().await.unwrap().unwrap();
        assert_eq!(found.lines, 0..3);
        assert_eq!(found.raw.trim_end(), "title: A");
        let headings = document.headings(..).await.unwrap();
        assert_eq!((headings.len(), headings[0].lines.clone()), (1, 3..4));
    }
}

#[tokio::test]
async fn a_thematic_break_at_the_start_is_not_frontmatter() {
    let long = format!("---\n{}---\n", "a: b\n".repeat(20_000));
    for text in [
        "---\n\nA\n---\n",
        "---\na: 1\n",
        " ---\na: 1\n---\n",
        "# H\n---\na: 1\n---\n",
        "",
        &long,
    ] {
        assert_eq!(markdown(text.to_owned()).frontmatter().await.unwrap(), None);
    }
    assert_eq!(
        markdown("---\n\nA\n---\n").headings(..).await.unwrap()[0].lines,
        2..4
    );
    let reply = answer(&long, "artifact_md_frontmatter", json!({})).await;
    assert!(reply.contains("within 64 KiB"), "{reply}");
    let same = answer("text", "artifact_md_frontmatter", json!({})).await;
    assert_eq!(same, reply);
}

async fn value(text: &str) -> Value {
    let found = markdown(text.to_owned()).frontmatter().await.unwrap();
    found.unwrap().value
}

async fn refusal(text: &str) -> String {
    let error = markdown(text.to_owned()).frontmatter().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_MALFORMED);
    error.model_text().to_owned()
}

#[tokio::test]
async fn yaml_becomes_json() {
    let yaml = "---\ntitle: \"A: b\"\ntags: [x, y]\ndate: 2024-01-02\nn: 0x10\nf: 1.5\nbig: 99999999999999999999\nnan: .nan\nnone: ~\n1: one\ntagged: !t v\nbase: &b {k: v}\ncopy: *b\n---\n";
    assert_eq!(
        value(yaml).await,
        json!({"title": "A: b", "tags": ["x", "y"], "date": "2024-01-02", "n": 16, "f": 1.5, "big": "99999999999999999999",
                "nan": "NaN", "none": null, "1": "one", "tagged": "v", "base": {"k": "v"}, "copy": {"k": "v"}})
    );
    assert_eq!(value("---\n---\n").await, Value::Null);
    let reply = answer("---\na: 1\n---\n", "artifact_md_frontmatter", json!({})).await;
    assert_eq!(reply, "lines 0..3: YAML\n{\n  \"a\": 1\n}");
}

#[tokio::test]
async fn invalid_frontmatter_is_reported_with_its_line() {
    for (text, line) in [
        ("---\na: 1\nb: c: d\n---\n", "at line 2"),
        ("---\na: 1\na: 2\n---\n", "the key \"a\" occurs twice"),
        ("---\n? [a]\n: b\n---\n", "a key must not be a list"),
    ] {
        let reply = refusal(text).await;
        assert!(reply.contains(line), "{reply}");
        assert!(reply.contains("artifact_cat start=0 end="), "{reply}");
    }
}

#[tokio::test]
async fn the_expansion_of_aliases_is_limited() {
    let strings = format!(
        "---\na: &a {}\nb: [{}]\n---\n",
        "x".repeat(30_000),
        ["*a"; 9_000].join(",")
    );
    let lists = format!(
        "---\na: &a [{}]\nb: [{}]\n---\n",
        ["x"; 9_000].join(","),
        ["*a"; 9_000].join(",")
    );
    let mut doubling = String::from("---\na0: &a0 x\n");
    for n in 1..64 {
        writeln!(doubling, "a{n}: &a{n} [*a{0}, *a{0}]", n - 1).unwrap();
    }
    doubling.push_str("---\n");
    for text in [strings, lists, doubling] {
        let reply = refusal(&text).await;
        assert!(
            reply.contains("expand to more than") || reply.contains("repetition limit"),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn the_nesting_of_brackets_is_limited() {
    let deep = |open: &str, n| format!("---\na: {}\n---\n", open.repeat(n));
    assert!(
        refusal(&deep("[", 60_000))
            .await
            .contains("recursion limit")
    );
    assert!(refusal(&deep("- ", 30_000)).await.contains("line 1"));
}
