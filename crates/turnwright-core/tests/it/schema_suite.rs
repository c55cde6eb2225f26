//! The official JSON Schema test suite, drafts 2020-12 and 7, its optional parts included.
//!
//! It is read from `$TURNWRIGHT_VECTORS`, else from `../shared/vectors` beside the project, and not copied; without
//! it the test says so and skips. Every case agrees with `Schema`, or its schema is one that a `Schema` refuses
//! because it could not enforce all of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use turnwright_core::{Error, RepairKind, Schema};

#[test]
fn every_case_of_draft_2020_12_agrees_or_its_schema_is_refused() {
    let Some(tally) = run(
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    ) else {
        return;
    };
    tally.assert_at_least(1, 1);
}

#[test]
fn every_case_of_draft_7_agrees_or_its_schema_is_refused() {
    let Some(tally) = run("draft7", "http://json-schema.org/draft-07/schema#") else {
        return;
    };
    tally.assert_at_least(1, 1);
}

/// Draft by draft, what became of the cases.
struct Tally {
    draft: &'static str,
    agreed: usize,
    annotation_only: usize,
    refused: BTreeMap<String, Vec<String>>,
    refused_cases: usize,
    disagreed: Vec<String>,
}

impl Tally {
    fn print(&self) {
        println!("{}: {} cases agree", self.draft, self.agreed);
        println!(
            "{}: {} cases say that `format` only annotates, and it is enforced here",
            self.draft, self.annotation_only
        );
        let groups: usize = self.refused.values().map(Vec::len).sum();
        println!(
            "{}: {} cases stand below {groups} schemas that are refused:",
            self.draft, self.refused_cases
        );
        for (reason, groups) in &self.refused {
            println!("  {} × {reason}", groups.len());
            if std::env::var_os("TURNWRIGHT_VERBOSE").is_some() {
                groups.iter().for_each(|group| println!("      {group}"));
            }
        }
        self.disagreed
            .iter()
            .for_each(|case| println!("{}: DISAGREES: {case}", self.draft));
    }

    fn assert_at_least(&self, agreed: usize, annotation_only: usize) {
        assert!(
            self.disagreed.is_empty(),
            "{} cases disagree, the first: {}",
            self.disagreed.len(),
            self.disagreed[0]
        );
        assert!(self.agreed >= agreed, "only {} cases agree", self.agreed);
        assert_eq!(
            self.annotation_only, annotation_only,
            "cases that take `format` for an annotation"
        );
    }
}

fn run(draft: &'static str, uri: &str) -> Option<Tally> {
    let root = vectors().join("json_schema_suite").join(draft);
    if !root.is_dir() {
        println!(
            "SKIPPED: the JSON Schema test suite is not at {}; set TURNWRIGHT_VECTORS",
            root.display()
        );
        return None;
    }
    let mut tally = Tally {
        draft,
        agreed: 0,
        annotation_only: 0,
        refused: BTreeMap::new(),
        refused_cases: 0,
        disagreed: Vec::new(),
    };
    let mut files = Vec::new();
    json_files(&root, &mut files);
    files.sort();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        let groups: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for group in &groups {
            judge_group(&mut tally, &name, group, uri);
        }
    }
    tally.print();
    Some(tally)
}

fn vectors() -> PathBuf {
    std::env::var_os("TURNWRIGHT_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    )
}

fn json_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            json_files(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
}

fn judge_group(tally: &mut Tally, file: &str, group: &Value, uri: &str) {
    let about = format!("{file}: {}", group["description"].as_str().unwrap());
    let cases = group["tests"].as_array().unwrap();
    let schema = match Schema::from_document(arguments_with(&group["schema"], uri)) {
        Ok(schema) => schema,
        Err(error) => {
            tally.refused.entry(reason(&error)).or_default().push(about);
            tally.refused_cases += cases.len();
            return;
        }
    };
    for case in cases {
        let valid = case["valid"].as_bool().unwrap();
        let description = case["description"].as_str().unwrap();
        let value = json!({ "v": case["data"] });
        if file == "format.json" && valid && description.contains("only an annotation") {
            assert!(
                !schema.accepts(&value),
                "{about}: {description}: the format is enforced"
            );
            tally.annotation_only += 1;
            continue;
        }
        match verdict(&schema, &value, valid) {
            Ok(()) => tally.agreed += 1,
            Err(seen) => tally.disagreed.push(format!(
                "{about}: {description}: {seen}, schema {}, value {value}",
                schema.document()
            )),
        }
    }
}

/// The suite's schema as the schema of a property. References that begin with `#` must stay inside of it, so it gets
/// an `$id`.
fn arguments_with(schema: &Value, uri: &str) -> Value {
    let inner = match schema {
        Value::Object(map) => Value::Object(as_resource(map, uri)),
        other => other.clone(),
    };
    json!({ "$schema": uri, "type": "object", "properties": { "v": inner }, "required": ["v"] })
}

fn as_resource(schema: &Map<String, Value>, uri: &str) -> Map<String, Value> {
    let mut schema = schema.clone();
    // One document names its draft once; another draft's name stays, and is refused.
    if schema.get("$schema").is_some_and(|named| named == uri) {
        schema.shift_remove("$schema");
    }
    // Beside a `$ref`, draft 7 sees neither an `$id` nor anything else. Where only definitions stand there, an
    // `allOf` says the same; assertions stay where they are, because a `Schema` refuses them.
    let only_defines = schema
        .keys()
        .all(|keyword| matches!(keyword.as_str(), "$ref" | "definitions" | "$comment"));
    if uri.contains("draft-07")
        && only_defines
        && let Some(target) = schema.shift_remove("$ref")
    {
        schema.insert("allOf".into(), json!([{ "$ref": target }]));
    }
    if !schema.contains_key("$id") && !(uri.contains("draft-07") && schema.contains_key("$ref")) {
        schema.insert("$id".into(), "urn:suite:schema".into());
    }
    schema
}

/// The first problem, with what it quotes left out so that like goes to like.
fn reason(error: &Error) -> String {
    let Some(problem) = error.problems().first() else {
        return error.to_string();
    };
    problem.message.clone()
}

/// Agreement: the same verdict on the value as it came; if it is valid, nothing but defaults (and `7` for `7.0`) is
/// put into it; if it is not and the check takes it, then only after a repair.
fn verdict(schema: &Schema, value: &Value, valid: bool) -> Result<(), String> {
    if schema.accepts(value) != valid {
        return Err(format!(
            "it should be {}",
            if valid { "valid" } else { "invalid" }
        ));
    }
    let harmless = |kind: RepairKind| matches!(kind, RepairKind::Default | RepairKind::Integer);
    match schema.check(value.clone()) {
        Ok(checked) if valid => match checked
            .repairs()
            .iter()
            .find(|repair| !harmless(repair.kind))
        {
            Some(repair) => Err(format!("a valid value was repaired: {repair:?}")),
            None => Ok(()),
        },
        Ok(checked)
            if checked
                .repairs()
                .iter()
                .all(|repair| repair.kind == RepairKind::Default) =>
        {
            Err("an invalid value was accepted without a repair".into())
        }
        Ok(checked) if !schema.accepts(checked.value()) => {
            Err("what the check made of it is invalid".into())
        }
        Ok(_) => Ok(()),
        Err(error) if valid => Err(format!("a valid value was refused: {error}")),
        Err(_) => Ok(()),
    }
}
