//! Contents, calls and their results.

use serde_json::{Value, json};

use crate::server::model::check::place::Place;
use crate::server::model::check::{Checked, Known, must};
use crate::server::model::gemini::{SIGNATURE, about_call};
use crate::server::model::state;

/// The documented signatures for calls that came from elsewhere.
const PLACEHOLDERS: [&str; 2] = [
    "context_engineering_is_the_way_to_go",
    "skip_thought_signature_validator",
];

pub(super) fn check(body: &Place<'_>, known: &Known<'_>) -> Checked {
    let contents: Vec<_> = body.at("contents").items().collect();
    let current = current_turn(&contents);
    // The calls of the content before.
    let mut open: Vec<Place<'_>> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let due = if index % 2 == 0 { "user" } else { "model" };
        let role = content.text("role");
        content.must(
            role == due,
            format_args!("role: `{due}` is due, not `{role}`: contents must alternate"),
        )?;
        let parts: Vec<_> = content.at("parts").items().collect();
        for part in parts.iter().filter(|part| part.has("thoughtSignature")) {
            let checked = signature(part, part.text("thoughtSignature"), known);
            checked.map_err(|why| {
                part.problem(format_args!("Thought signature is not valid: {why}"))
            })?;
        }
        if role == "user" {
            results(content, &parts, &open)?;
            open.clear();
        } else {
            signed(content, &parts, index > current, known)?;
            open = fields(&parts, "functionCall");
        }
    }
    must(
        contents.len() % 2 == 1,
        "contents: the last content must be the user's",
    )
}

/// Returns this field of the parts that have it.
fn fields<'a>(parts: &[Place<'a>], name: &str) -> Vec<Place<'a>> {
    parts.iter().filter_map(|part| part.get(name)).collect()
}

/// Returns the index of the content that began the current turn: the last one of the user that is not only results.
fn current_turn(contents: &[Place<'_>]) -> usize {
    let asks = |content: &Place<'_>| {
        let parts = content.at("parts");
        let is_result = |part: Place<'_>| part.has("functionResponse");
        content.str("role") == Some("user") && !parts.items().all(is_result)
    };
    contents.iter().rposition(asks).unwrap_or(0)
}

fn is_thought(part: &Place<'_>) -> bool {
    part.at("thought").value == &Value::Bool(true)
}

/// Checks that a signature came with this part.
fn signature(part: &Place<'_>, signature: &str, known: &Known<'_>) -> Result<(), String> {
    if let Some(call) = part.get("functionCall") {
        if PLACEHOLDERS.contains(&signature) {
            return Ok(());
        }
        let args = call
            .get("args")
            .map_or_else(|| json!({}), |args| args.value.clone());
        let about = about_call(call.text("name"), &args);
        known.state(SIGNATURE, signature, &about.each_ref().map(String::as_str))
    } else if part.has("text") && !is_thought(part) {
        known.state(SIGNATURE, signature, &["text"])
    } else if state::is_block_state(known.server, signature) {
        Ok(())
    } else {
        Err("it did not come with this part".to_owned())
    }
}

/// Checks that the signatures of a content came back.
fn signed(
    content: &Place<'_>,
    parts: &[Place<'_>],
    is_current: bool,
    known: &Known<'_>,
) -> Checked {
    let has_signature = |part: &Place<'_>| part.has("thoughtSignature");
    if let Some(first) = parts.iter().find(|part| part.has("functionCall")) {
        return content.must(
            has_signature(first) || !is_current,
            "the first function call is missing a thought_signature. This is required for tools to work correctly",
        );
    }
    let texts = parts.iter().filter(|part| !is_thought(part));
    let text: String = texts.filter_map(|part| part.str("text")).collect();
    content.must(
        parts.iter().any(has_signature) || !(known.signed)(&text),
        "the text came with a thought signature, which is missing",
    )
}

/// Checks that the results of all open calls are there, in their order.
fn results(content: &Place<'_>, parts: &[Place<'_>], open: &[Place<'_>]) -> Checked {
    let results = fields(parts, "functionResponse");
    content.must(
        results.len() == open.len(),
        format_args!(
            "Please ensure that the number of function response parts is equal to the number of function call parts of \
             the function call turn ({} and {})",
            results.len(),
            open.len()
        ),
    )?;
    for (call, result) in open.iter().zip(&results) {
        for field in ["name", "id"] {
            let (found, due) = (result.at(field).value, call.at(field).value);
            result.must(
                found == due,
                format_args!(
                    "the {field} of a function response is {found}, and that of its call {due}"
                ),
            )?;
        }
    }
    let mut others = parts.iter().skip(results.len());
    content.must(
        others.all(|part| !part.has("functionResponse")),
        "function responses must come before other parts",
    )
}
