use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::json5::to_json;
use super::{generate, get, of_kind, path, refused, wait};
use crate::artifact::ArtifactKind;
use crate::error::ErrorCode;

fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(&to_json(text).ok()?).ok()
}

#[test]
fn json5_syntax_is_accepted() {
    let text = "// settings\n{ /* who */ name: 'it\\'s \"me\"', $a_1: [.5, 5., +1, -2, 0xFF, -0x10, 1e3,],\n\
                \"t\": \"two \\\nlines\\x41\\v\\0\", ünï: null, 'k': {a: true,},\u{a0}}\u{feff}\n";
    let expected = json!({
        "name": "it's \"me\"", "$a_1": [0.5, 5.0, 1, -2, 255, -16, 1000.0],
        "t": "two linesA\u{b}\0", "ünï": null, "k": { "a": true }
    });
    assert_eq!(parsed(text), Some(expected));
    assert_eq!(parsed("0xFFFFFFFFFFFFFFFF"), Some(json!(u64::MAX)));
    assert_eq!(
        parsed("0x10000000000000000"),
        Some(json!(18_446_744_073_709_551_616.0))
    );
    assert_eq!(parsed("-9223372036854775808"), Some(json!(i64::MIN)));
    assert_eq!(
        parsed("{\\u0061b: '\\ud83d\\ude00'}"),
        Some(json!({ "ab": "😀" }))
    );
}

#[test]
fn invalid_json5_is_rejected() {
    for text in [
        "",
        "{",
        "[,]",
        "[1,,2]",
        "{,}",
        "1,",
        "[1 2]",
        "{a 1}",
        "{a: b}",
        "{1: 2}",
        "'a\nb'",
        "'a",
        "/* x",
        "/ 1",
        "01",
        "0x",
        "0xg",
        ".",
        "+",
        "--1",
        "+ 1",
        "1e",
        "'\\x4'",
        "'\\1'",
        "'\\ud800'",
        "[1}",
        "a",
        "{a:1}}",
        "#",
        "{'a':1 'b':2}",
    ] {
        assert_eq!(parsed(text), None, "{text}");
    }
}

#[test]
fn hostile_json5_neither_overflows_nor_hangs() {
    for text in [
        "-".repeat(1_000_000),
        "/**/ ".repeat(200_000),
        "[".repeat(1_000_000),
        "{a:".repeat(300_000),
        format!("0x{}", "f".repeat(1_000_000)),
        "'\\\n".repeat(300_000),
    ] {
        assert_eq!(parsed(&text), None);
    }
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(to_json(&deep).unwrap_err().contains("128 levels"));
}

#[test]
fn numbers_that_json_cannot_represent_are_rejected() {
    for text in ["{a: NaN}", "[-Infinity]", "+Infinity", "[1, +NaN]"] {
        let artifact = of_kind(text, ArtifactKind::JSON5);
        let refusal = refused(
            wait(artifact.json_get(&path("$"), 0)),
            ErrorCode::ARTIFACT_MALFORMED,
        );
        assert!(refusal.contains("is not a JSON value"), "{refusal}");
    }
}

#[test]
fn an_error_has_its_line() {
    let artifact = of_kind("{\n  // fine\n  a: 1,\n  b: oops,\n}", ArtifactKind::JSON5);
    let refusal = refused(
        wait(artifact.json_get(&path("$"), 0)),
        ErrorCode::ARTIFACT_MALFORMED,
    );
    assert!(
        refusal.contains("`oops` needs quotes at line 3"),
        "{refusal}"
    );
    assert!(refusal.contains("artifact_grep"), "{refusal}");
    let artifact = of_kind("{\n  a: 'x\\\ny',\n  b: [1 2]\n}", ArtifactKind::JSON5);
    let refusal = refused(
        wait(artifact.json_get(&path("$"), 0)),
        ErrorCode::ARTIFACT_MALFORMED,
    );
    assert!(refusal.contains("at line 3"), "{refusal}");
}

#[test]
fn json5_is_detected() {
    let artifact = super::json("{ // a comment\n  a: [1, 2,],\n}\n");
    assert_eq!(get(&artifact, "$.a"), "$['a']: [1,2]\n[1 node]");
}

proptest! {
    #[test]
    fn json_is_json5(value in generate::value()) {
        prop_assert_eq!(parsed(&value.to_string()), Some(value.clone()));
        prop_assert_eq!(parsed(&serde_json::to_string_pretty(&value).unwrap()), Some(value));
    }

    #[test]
    fn any_text_is_json5_or_rejected(text in "[\\[\\]{}:,'\"a1.+xe/* \\\\\n-]{0,30}") {
        // Valid JSON means the same as JSON5.
        let strict = serde_json::from_str::<Value>(&text).ok();
        prop_assert!(strict.is_none() || strict == parsed(&text), "{}", text);
    }
}
