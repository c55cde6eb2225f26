//! Answers questions of MCP servers to the user: forms, and pages to open.

use serde_json::{Map, Value};
use turnwright::gate::{GateAnswer, Gates, OpenGate};

use super::approval::{QUOTED, by_user, note, why_not_accepted};
use super::{Editor, Screen, Typed, one_line, plain, style, warn_on_stderr};

/// The kind of these gates.
pub(super) const KIND: &str = "elicitation";

/// The most characters of a question that is only reported.
const QUESTION: usize = 500;

/// The most characters of a field's description, and of its type.
const DESCRIPTION: usize = 200;
const TYPE: usize = 60;

/// Answers such a question. `false` if the user cancelled the turn. `--yes` approves calls; it does not answer questions.
pub(super) async fn answer(
    editor: Option<&Editor>,
    screen: &mut Screen,
    gate: &OpenGate,
    gates: &Gates,
) -> anyhow::Result<bool> {
    screen.rest();
    let Some(editor) = editor else {
        report_declined(gate);
        gates.answer(&gate.id, GateAnswer::reject("there is no terminal to ask"))?;
        return Ok(true);
    };
    show(screen, gate)?;
    let prompt = match &gate.schema {
        Some(_) => "  Answer it? yes or no: ",
        None => "  Did you do it? yes or no: ",
    };
    let typed = editor.answer(prompt, "").await;
    if typed == Typed::Interrupted {
        return cancel(gate, gates);
    }
    if !typed.is_yes() {
        gates.answer(&gate.id, by_user(GateAnswer::reject("the user declined")))?;
        return Ok(true);
    }
    let Some(schema) = &gate.schema else {
        gates.answer(&gate.id, by_user(GateAnswer::value(Value::Null)))?;
        return Ok(true);
    };
    loop {
        let Some(form) = fill_in(editor, schema).await else {
            return cancel(gate, gates);
        };
        match gates.answer(&gate.id, by_user(GateAnswer::value(form))) {
            Ok(true) => return Ok(true),
            Ok(false) => {
                note(screen, "too late: the call is no longer waiting")?;
                return Ok(true);
            }
            Err(error) => {
                let why = format!("invalid answer: {}", plain(&why_not_accepted(&error)));
                screen.quoting(style::BAD, "  ", QUOTED, &why)?;
            }
        }
    }
}

fn cancel(gate: &OpenGate, gates: &Gates) -> anyhow::Result<bool> {
    let answer = GateAnswer::reject("the user cancelled the turn");
    gates.answer(&gate.id, by_user(answer))?;
    Ok(false)
}

/// A text of the question; empty if there is none.
pub(super) fn text<'g>(gate: &'g OpenGate, name: &str) -> &'g str {
    let text = gate.question.get(name).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// Says on standard error that a question was declined: the output may be read by a program.
fn report_declined(gate: &OpenGate) {
    let server = one_line(text(gate, "server"), 64);
    let message = one_line(text(gate, "message"), QUESTION);
    warn_on_stderr(&format!(
        "the MCP server `{server}` asked a question, which was declined because there is no terminal: {message}"
    ));
}

/// Shows who asks, and what. The words are those of the server.
fn show(screen: &mut Screen, gate: &OpenGate) -> std::io::Result<()> {
    let server = one_line(text(gate, "server"), 64);
    screen.painted(
        style::WARN,
        format_args!("? the MCP server {server} asks you"),
    )?;
    let message = plain(text(gate, "message"));
    screen.quoting(anstyle::Style::new(), QUOTED, QUOTED, &message)?;
    let url = text(gate, "url");
    if !url.is_empty() {
        let host = one_line(text(gate, "host"), 200);
        screen.paragraph(
            style::DIM,
            "  ",
            &format!("it wants you to open a page of {host}:"),
        )?;
        screen.quoting(anstyle::Style::new(), QUOTED, QUOTED, &plain(url))?;
    }
    screen.paragraph(style::DIM, "  ", "your answer goes to the server")
}

/// Asks for each field. `None` if the user cancels.
async fn fill_in(editor: &Editor, schema: &Value) -> Option<Value> {
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut form = Map::new();
    for (name, field) in fields.into_iter().flatten() {
        let is_required = schema.get("required").and_then(Value::as_array);
        let is_required = is_required.is_some_and(|names| names.iter().any(|item| item == name));
        let prompt = prompt(name, field, is_required);
        let text = match editor.answer(&prompt, "").await {
            Typed::Line(text) => text,
            Typed::Ended | Typed::Interrupted => return None,
        };
        if !text.trim().is_empty() || is_required {
            form.insert(name.clone(), value(&text, field));
        }
    }
    Some(Value::Object(form))
}

fn prompt(name: &str, field: &Value, is_required: bool) -> String {
    let text = |key: &str| field.get(key).and_then(Value::as_str);
    let kind = match field.get("enum").and_then(Value::as_array) {
        Some(values) => {
            let values: Vec<String> = values.iter().map(shown).collect();
            one_line(&values.join(" or "), DESCRIPTION)
        }
        None if text("type") == Some("boolean") => "yes or no".to_owned(),
        None => one_line(text("type").unwrap_or("JSON"), TYPE),
    };
    let optional = if is_required { "" } else { ", optional" };
    let about = match text("description").or_else(|| text("title")) {
        Some(about) => format!("{}, ", one_line(about, DESCRIPTION)),
        None => String::new(),
    };
    format!("  {} ({about}{kind}{optional}): ", one_line(name, 64))
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What was typed, by the type of the field.
fn value(text: &str, field: &Value) -> Value {
    let kind = field.get("type").and_then(Value::as_str);
    match (kind, text.trim()) {
        (Some("string"), _) => Value::String(text.to_owned()),
        (Some("boolean"), "yes" | "y") => Value::Bool(true),
        (Some("boolean"), "no" | "n") => Value::Bool(false),
        (_, trimmed) => {
            serde_json::from_str(trimmed).unwrap_or_else(|_| Value::String(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_have_the_type_of_the_field() {
        assert_eq!(value("7", &json!({ "type": "integer" })), json!(7));
        assert_eq!(value("7", &json!({ "type": "string" })), json!("7"));
        assert_eq!(value(" true", &json!({ "type": "boolean" })), json!(true));
        assert_eq!(value("yes", &json!({ "type": "boolean" })), json!(true));
        assert_eq!(value("n ", &json!({ "type": "boolean" })), json!(false));
        assert_eq!(value("red", &json!({ "enum": ["red"] })), json!("red"));
        assert_eq!(value("x", &json!({ "type": "integer" })), json!("x"));
    }

    #[test]
    fn prompts_describe_the_field_on_one_line() {
        let field = json!({ "type": "string", "description": "A\ncolour\u{1b}" });
        assert_eq!(prompt("c", &field, true), "  c (A colour\\u{1b}, string): ");
        let field = json!({ "enum": ["red", "blue"] });
        assert_eq!(prompt("c", &field, false), "  c (red or blue, optional): ");
    }
}
