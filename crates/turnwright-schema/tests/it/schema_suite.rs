//! The official JSON Schema test suite, drafts 2020-12 and 7, including the optional parts.
//!
//! The suite is read from `$TURNWRIGHT_VECTORS`, otherwise from `../shared/vectors` next to the project. It is not
//! copied; if it is missing, the test prints a notice and skips. Every case agrees with `Schema`, or its schema is
//! rejected because it cannot be fully enforced.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use turnwright_schema::{RepairKind, Schema, SchemaError};

#[test]
fn draft_2020_12_cases_agree_or_their_schema_is_rejected() {
    let Some(tally) = run(
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    ) else {
        return;
    };
    tally.assert(1916, 17, 292);
}

#[test]
fn draft_7_cases_agree_or_their_schema_is_rejected() {
    let Some(tally) = run("draft7", "http://json-schema.org/draft-07/schema#") else {
        return;
    };
    tally.assert(1537, 0, 184);
}

/// The results for one draft.
struct Tally {
    draft: &'static str,
    agreed: usize,
    /// Cases that expect `format` to be an annotation, which the specification allows and this crate does not.
    annotation_only: usize,
    /// For each reason, the number of rejected schemas and of their cases.
    rejected: BTreeMap<&'static str, (usize, usize)>,
    disagreed: Vec<String>,
}

impl Tally {
    fn reject(&mut self, reason: &'static str, cases: usize) {
        let (schemas, of_them) = self.rejected.entry(reason).or_default();
        *schemas += 1;
        *of_them += cases;
    }

    fn rejected_cases(&self) -> usize {
        self.rejected.values().map(|(_, cases)| cases).sum()
    }

    fn print(&self) {
        let Self {
            draft,
            agreed,
            annotation_only,
            ..
        } = self;
        crate::say(format_args!("{draft}: {agreed} cases agree"));
        crate::say(format_args!(
            "{draft}: {annotation_only} cases expect a format to be an annotation, but it is enforced"
        ));
        crate::say(format_args!(
            "{draft}: {} cases have a schema that is rejected:",
            self.rejected_cases()
        ));
        for (reason, (schemas, cases)) in &self.rejected {
            crate::say(format_args!("  {schemas} schemas, {cases} cases: {reason}"));
        }
        self.disagreed
            .iter()
            .for_each(|case| crate::say(format_args!("{draft}: DISAGREES: {case}")));
    }

    /// Asserts that nothing disagrees, and that the suite does not pass by rejecting more of it.
    fn assert(&self, agreed: usize, annotation_only: usize, rejected: usize) {
        assert!(
            self.disagreed.is_empty(),
            "{} disagree, the first: {}",
            self.disagreed.len(),
            self.disagreed[0]
        );
        assert!(self.agreed >= agreed, "only {} cases agree", self.agreed);
        assert!(
            self.rejected_cases() <= rejected,
            "{} cases have a schema that is rejected",
            self.rejected_cases()
        );
        assert_eq!(
            self.annotation_only, annotation_only,
            "cases that expect a format to be an annotation"
        );
    }
}

fn run(draft: &'static str, uri: &str) -> Option<Tally> {
    let root = crate::vectors().join("json_schema_suite").join(draft);
    if !root.is_dir() {
        let place = root.display();
        crate::say(format_args!(
            "SKIPPED: the JSON Schema test suite is not at {place}; set TURNWRIGHT_VECTORS"
        ));
        return None;
    }
    let mut tally = Tally {
        draft,
        agreed: 0,
        annotation_only: 0,
        rejected: BTreeMap::new(),
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
            match reason(&error) {
                Ok(reason) => tally.reject(reason, cases.len()),
                Err(problems) => tally.disagreed.push(format!(
                    "{about}: rejected for an unknown reason: {problems}"
                )),
            }
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

/// Wraps the suite's schema as the schema of a property. References that start with `#` must stay inside it, so it
/// gets an `$id`.
fn arguments_with(schema: &Value, uri: &str) -> Value {
    let inner = match schema {
        Value::Object(map) => Value::Object(as_resource(map, uri)),
        other => other.clone(),
    };
    json!({ "$schema": uri, "type": "object", "properties": { "v": inner }, "required": ["v"] })
}

fn as_resource(schema: &Map<String, Value>, uri: &str) -> Map<String, Value> {
    let mut schema = schema.clone();
    // A document declares its draft once. Another draft's name stays, and is rejected.
    if schema.get("$schema").is_some_and(|named| named == uri) {
        schema.shift_remove("$schema");
    }
    // Draft 7 ignores `$id` and everything else next to a `$ref`. If only definitions are next to it, an `allOf`
    // means the same. Assertions stay where they are, because a `Schema` rejects them.
    let only_defines = schema
        .keys()
        .all(|keyword| matches!(keyword.as_str(), "$ref" | "definitions" | "$comment"));
    if uri.contains("draft-07")
        && only_defines
        && let Some(target) = schema.shift_remove("$ref")
    {
        schema.insert("allOf".into(), json!([{ "$ref": target }]));
    }
    let hidden = uri.contains("draft-07") && schema.contains_key("$ref");
    if !hidden && !schema.contains_key("$id") {
        schema.insert("$id".into(), "urn:suite:schema".into());
    }
    schema
}

/// The reasons for which a schema of the suite may be rejected: a part of the message, and its category.
const REASONS: &[(&str, &str)] = &[
    (
        "is not supported: use `$ref`",
        "dynamic references and vocabularies are not supported",
    ),
    ("is not a keyword", "a keyword that is not enforced"),
    ("is ignored by draft", "a keyword that this draft ignores"),
    (
        "has no effect",
        "a keyword that has no effect at its location",
    ),
    (
        "does not resolve within this document",
        "a reference out of the document",
    ),
    (
        "must not change within a document",
        "a part that is of another draft",
    ),
    (
        "draft 7 ignores keywords next to",
        "an assertion next to a `$ref` of draft 7",
    ),
    (
        "is not valid under its own schema",
        "a default that its own schema rejects",
    ),
    ("is not enforced", "a format that is not enforced"),
    ("linear time", "a pattern that does not run in linear time"),
];

/// Returns the first known reason. A schema that is rejected for no known reason should have been accepted.
fn reason(error: &SchemaError) -> Result<&'static str, String> {
    let known = |message: &str| {
        REASONS
            .iter()
            .find(|(part, _)| message.contains(part))
            .map(|(_, reason)| *reason)
    };
    error
        .problems()
        .iter()
        .find_map(|problem| known(&problem.message))
        .ok_or_else(|| format!("{:?}", error.problems()))
}

/// Agreement means: the same verdict on the unchanged value. If it is valid, nothing but defaults (and `7` for `7.0`)
/// is added. If it is invalid and the check accepts it, then only after a repair.
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
            Err("the checked value is invalid".into())
        }
        Ok(_) => Ok(()),
        Err(error) if valid => Err(format!("a valid value was rejected: {error}")),
        Err(_) => Ok(()),
    }
}
