//! Every definition of the vectors is built, or is refused for a known reason.

use std::collections::BTreeMap;

use serde_json::Value;
use turnwright_schema::{Schema, SchemaOptions};

/// One input schema of the vectors.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) document: Value,
}

/// Returns all definitions; `None` if the vectors are missing.
pub(super) fn definitions() -> Option<Vec<Definition>> {
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

pub(super) fn build(document: &Value) -> Result<Schema, turnwright_schema::SchemaError> {
    SchemaOptions::foreign()
        .fill_defaults(false)
        .document(document.clone())
}

#[test]
fn every_definition_is_built_or_refused_for_a_known_reason() {
    let Some(definitions) = definitions() else {
        return;
    };
    let mut refused = Vec::new();
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut complete = 0;
    for Definition { name, document } in &definitions {
        match build(document) {
            Ok(schema) => {
                complete += usize::from(schema.unenforced().is_empty());
                for entry in schema.unenforced() {
                    *counts.entry(entry.kind.as_str()).or_default() += 1;
                    if std::env::var_os("SHOW").is_some() {
                        crate::say(format_args!("{name}: {entry}"));
                    }
                }
                assert_eq!(schema.original(), document, "{name}");
            }
            Err(error) => refused.push((name.as_str(), error.to_string())),
        }
    }
    for (kind, count) in &counts {
        crate::say(format_args!("  {count:4} {kind}"));
    }
    crate::say(format_args!(
        "complete: {complete} of {}",
        definitions.len()
    ));
    for (name, error) in &refused {
        crate::say(format_args!("refused: {name}: {error}"));
    }
}
