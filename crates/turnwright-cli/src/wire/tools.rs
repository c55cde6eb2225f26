//! Tools that return recorded results.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use turnwright::artifact::Inline;
use turnwright::schema::{Schema, SchemaError};
use turnwright::{Effects, Error, Tool, ToolContext};

use super::messages::{list, text_of};

/// The result of a call that has no recorded result.
const NOT_RECORDED: &str = "(the result of this call was not recorded)";

/// The results of calls, by the id of the call. An id may occur twice.
#[derive(Default)]
pub(super) struct Answers(Mutex<HashMap<String, VecDeque<String>>>);

impl Answers {
    pub(super) fn add(&self, id: &str, answer: String) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.entry(id.to_owned()).or_default().push_back(answer);
    }

    fn take(&self, id: &str) -> String {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.get_mut(id).and_then(VecDeque::pop_front);
        answer.unwrap_or_else(|| NOT_RECORDED.to_owned())
    }
}

/// The tools that a request offers, and notes about them.
pub(super) fn offered(request: &Value, answers: &Arc<Answers>) -> (Vec<Tool>, Vec<String>) {
    let (mut tools, mut notes) = (Vec::new(), Vec::new());
    let mut names = HashSet::new();
    for offered in list(request, "tools") {
        let Some(function) = offered.get("function") else {
            let kind = text_of(offered, "type");
            notes.push(format!("a tool of type `{kind}` runs at the provider"));
            continue;
        };
        let name = text_of(function, "name");
        if !names.insert(name) {
            notes.push(format!(
                "the tool `{name}` is offered twice; the first one is used"
            ));
            continue;
        }
        let schema = schema(function).or_else(|why| {
            notes.push(format!(
                "the tool `{name}` accepts any object here, because its schema cannot be enforced: {why}"
            ));
            Schema::from_document(json!({ "type": "object" }))
        });
        match tool(name, text_of(function, "description"), schema, answers) {
            Ok(tool) => tools.push(tool),
            Err(error) => {
                let why = error.with_causes();
                notes.push(format!("the tool `{name}` is invalid: {why}"));
            }
        }
    }
    (tools, notes)
}

/// The schema of a recorded tool, if it can be enforced.
fn schema(function: &Value) -> Result<Schema, SchemaError> {
    let document = function.get("parameters").filter(|item| !item.is_null());
    let document = document.cloned().unwrap_or(json!({ "type": "object" }));
    // Formats that are only annotations, such as `uint32`, are common.
    let mut formats = Vec::new();
    find_formats(&document, &mut formats);
    let mut options = Schema::options();
    for format in formats {
        options = options.annotation_format(format);
    }
    options.document(document.clone())
}

/// The formats in a document. Its depth is limited by the parser.
fn find_formats<'d>(document: &'d Value, found: &mut Vec<&'d str>) {
    match document {
        Value::Object(fields) => {
            found.extend(document.get("format").and_then(Value::as_str));
            fields.values().for_each(|item| find_formats(item, found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_formats(item, found)),
        _ => {}
    }
}

fn tool(
    name: &str,
    description: &str,
    schema: Result<Schema, SchemaError>,
    answers: &Arc<Answers>,
) -> Result<Tool, Error> {
    let description = match description.trim().is_empty() {
        true => "(no description was recorded)",
        false => description,
    };
    let answers = Arc::clone(answers);
    Tool::dynamic(name, schema)
        .description(description)
        // It only returns a recorded result.
        .effects(Effects::ReadOnly)
        .inline(Inline::Always)
        .handler(move |_: Value, ctx: ToolContext| {
            let answer = answers.take(ctx.provider_id().unwrap_or_default());
            async move { answer }
        })
        .build()
}
