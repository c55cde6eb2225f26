//! Every definition of the vectors is built, or is refused for a known reason.

use std::collections::BTreeMap;

use serde_json::Value;
use turnwright_schema::{Schema, SchemaError, SchemaOptions};

use super::complete::silently_ignored;

/// One input schema of the vectors.
struct Definition {
    name: String,
    document: Value,
}

/// Returns all definitions; `None` if the vectors are missing.
fn definitions() -> Option<Vec<Definition>> {
    let folder = crate::vectors().join("mcp");
    let mut all = Vec::new();
    for file in ["tools.jsonl", "generated.jsonl"] {
        let Ok(text) = std::fs::read_to_string(folder.join(file)) else {
            let place = folder.display();
            crate::say(format_args!(
                "SKIPPED: the definitions are not at {place}; set TURNWRIGHT_VECTORS"
            ));
            return None;
        };
        for line in text.lines() {
            let line: Value = match serde_json::from_str(line) {
                Ok(line) => line,
                // Python writes this, but it is not JSON, so no client could read it.
                Err(_) if line.contains("\"default\": Infinity") => continue,
                Err(error) => panic!("{error}: {line}"),
            };
            let tool = &line["tool"];
            let name = match line["from"].as_str() {
                Some(from) => from.to_owned(),
                None => format!(
                    "{}/{}",
                    line["server"].as_str().unwrap(),
                    tool["name"].as_str().unwrap()
                ),
            };
            let document = line.get("inputSchema").unwrap_or(&tool["inputSchema"]);
            all.push(Definition {
                name,
                document: document.clone(),
            });
        }
    }
    Some(all)
}

fn build(document: &Value) -> Result<Schema, SchemaError> {
    SchemaOptions::foreign()
        .fill_defaults(false)
        .document(document.clone())
}

/// The definitions that are refused, each with a part of the reason.
const REFUSED: &[(&str, &str)] = &[
    ("wild.deadref", "does not resolve within this document"),
    (
        "wild.dialect-569-example.com",
        "is not a draft of JSON Schema",
    ),
    ("wild.extref", "does not resolve within this document"),
];

/// How many keywords are not enforced, by kind.
const NOT_ENFORCED: &[(&str, usize)] = &[
    ("annotation", 18),
    ("default", 6),
    ("discriminator", 2),
    ("format", 40),
    ("malformed", 14),
    ("no_effect", 1),
    ("nullable", 3),
    ("other_draft", 1),
    ("pattern", 15),
    ("unknown_keyword", 8),
];

#[test]
fn every_definition_is_built_or_refused_for_a_known_reason() {
    let Some(definitions) = definitions() else {
        return;
    };
    let mut refused = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut complete = 0;
    for Definition { name, document } in &definitions {
        match build(document) {
            Ok(schema) => {
                assert_eq!(schema.original(), document, "{name}");
                complete += usize::from(schema.unenforced().is_empty());
                for entry in schema.unenforced() {
                    let kind = serde_json::to_value(entry.kind).unwrap();
                    *counts.entry(kind.as_str().unwrap().to_owned()).or_default() += 1;
                }
            }
            Err(error) => refused.push((name.as_str(), error.to_string())),
        }
    }
    crate::say(format_args!(
        "{} definitions: {complete} are enforced completely, {} are refused",
        definitions.len(),
        refused.len()
    ));
    crate::say("keywords that are not enforced:");
    for (kind, count) in &counts {
        crate::say(format_args!("{count:5} {kind}"));
    }
    assert_eq!(definitions.len(), 1024);
    assert_eq!(complete, 932);
    let expected = NOT_ENFORCED
        .iter()
        .map(|(kind, count)| ((*kind).to_owned(), *count));
    assert_eq!(counts, expected.collect());
    assert_eq!(refused.len(), REFUSED.len(), "{refused:?}");
    for ((name, error), (expected, reason)) in refused.iter().zip(REFUSED) {
        assert_eq!(name, expected);
        assert!(error.contains(reason), "{name}: {error}");
    }
}

#[test]
fn no_keyword_of_a_definition_is_ignored_silently() {
    let Some(definitions) = definitions() else {
        return;
    };
    let mut ignored = Vec::new();
    for Definition { name, document } in &definitions {
        if let Ok(schema) = build(document) {
            let found = silently_ignored(&schema).into_iter();
            ignored.extend(found.map(|found| format!("{name}: {found}")));
        }
    }
    assert!(ignored.is_empty(), "{ignored:#?}");
}
