//! Tools that return recorded results.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use turnwright::artifact::Inline;
use turnwright::models::decode::ReplyCall;
use turnwright::schema::{Schema, SchemaError};
use turnwright::{Effects, Error, Tool, ToolContext};

use super::request::{OfferedTool, RecordedResult};

/// The result of a call that has no recorded result.
const NOT_RECORDED: &str = "(the result of this call was not recorded)";

/// The results of calls. An id may occur twice.
#[derive(Default)]
pub(super) struct Answers(Mutex<HashMap<Key, VecDeque<String>>>);

/// How a call finds its result.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// By the id that the server gave it.
    Id(String),
    /// By the name of the tool, in the order of the calls, if the server gave it no id.
    Tool(String),
}

impl Answers {
    /// Adds the results of the calls of a response. A result without an id is that of the first call of its tool that
    /// has none yet.
    pub(super) fn add(&self, calls: &[ReplyCall], results: &[RecordedResult]) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open: Vec<&ReplyCall> = calls.iter().collect();
        for result in results {
            let by_id = open
                .iter()
                .position(|call| result.id.is_some() && call.id == result.id);
            let by_name = || {
                let is_of =
                    |call: &&ReplyCall| result.name.as_deref().is_none_or(|name| name == call.name);
                open.iter().position(is_of).filter(|_| result.id.is_none())
            };
            let call = by_id.or_else(by_name).map(|at| open.remove(at));
            let key = match (call, &result.id) {
                (Some(ReplyCall { id: Some(id), .. }), _) | (None, Some(id)) => Key::Id(id.clone()),
                (Some(call), _) => Key::Tool(call.name.clone()),
                (None, None) => continue,
            };
            answers
                .entry(key)
                .or_default()
                .push_back(result.text.clone());
        }
    }

    fn take(&self, id: Option<&str>, tool: &str) -> String {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = match id {
            Some(id) => Key::Id(id.to_owned()),
            None => Key::Tool(tool.to_owned()),
        };
        let answer = answers.get_mut(&key).and_then(VecDeque::pop_front);
        answer.unwrap_or_else(|| NOT_RECORDED.to_owned())
    }
}

/// The tools that a request offers, and notes about them.
pub(super) fn offered(tools: &[OfferedTool], answers: &Arc<Answers>) -> (Vec<Tool>, Vec<String>) {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let mut names = HashSet::new();
    for offered in tools {
        let (name, description, document) = match offered {
            OfferedTool::Provider(kind) => {
                notes.push(format!("a tool of type `{kind}` runs at the provider"));
                continue;
            }
            OfferedTool::Function {
                name,
                description,
                schema,
            } => (name, description, schema),
        };
        if !names.insert(name) {
            notes.push(format!(
                "the tool `{name}` is offered twice; the first one is used"
            ));
            continue;
        }
        let schema = schema(document.as_ref()).or_else(|why| {
            notes.push(format!(
                "the tool `{name}` accepts any object here, because its schema cannot be enforced: {why}"
            ));
            Schema::from_document(json!({ "type": "object" }))
        });
        match tool(name, description, schema, answers) {
            Ok(tool) => found.push(tool),
            Err(error) => {
                let why = error.with_causes();
                notes.push(format!("the tool `{name}` is invalid: {why}"));
            }
        }
    }
    (found, notes)
}

/// The schema of a recorded tool, if it can be enforced.
fn schema(document: Option<&Value>) -> Result<Schema, SchemaError> {
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
    let (answers, tool) = (Arc::clone(answers), name.to_owned());
    Tool::dynamic(name, schema)
        .description(description)
        // It only returns a recorded result.
        .effects(Effects::ReadOnly)
        .inline(Inline::Always)
        .handler(move |_: Value, ctx: ToolContext| {
            let answer = answers.take(ctx.provider_id(), &tool);
            async move { answer }
        })
        .build()
}
