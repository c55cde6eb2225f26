//! The body of a request.

use serde_json::{Map, Value, json};
use turnwright_core::settings::ToolChoice;

use super::caching::Marks;
use super::codec::INFO;
use super::decode::CONTAINER;
use super::options::PROMPT_CACHING;
use super::quirks::{NO_SAMPLING, ONE_SAMPLING};
use super::thinking::{Thinking, open_exchange};
use crate::engine::{Encoded, RequestParts, Role, WireMessage, push_field};

/// Options that are not sent as they are.
const SPECIAL: [&str; 4] = ["stream", "thinking", "output_config", PROMPT_CACHING];

/// Writes the request as JSON.
pub(super) fn write(request: &RequestParts<'_>) -> Encoded {
    let mut warnings = Vec::new();
    let thinking = Thinking::of(request, &mut warnings);
    let marks = Marks::of(request);
    let mut text = String::with_capacity(request.length());
    text.push('{');
    for (name, value) in parameters(request, &thinking, &mut warnings) {
        push_field(&mut text, &name, &value.to_string());
    }
    let tools = request.tools.iter().map(|tool| &**tool);
    push_marked(&mut text, "tools", tools, &marks, "}", |at| {
        marks.on_tools && at + 1 == request.tools.len()
    });
    let (system, messages): (Vec<_>, Vec<_>) = request
        .messages
        .iter()
        .enumerate()
        .partition(|(_, message)| message.role == Role::System);
    let blocks = system.iter().map(|(_, message)| message.json.as_str());
    push_marked(&mut text, "system", blocks, &marks, "}", |at| {
        marks.on_system && at + 1 == system.len()
    });
    let is_marked = |at: usize| {
        messages
            .get(at)
            .is_some_and(|(index, _)| marks.on_message(*index))
    };
    let items = messages.iter().map(|(_, message)| message.json.as_str());
    push_marked(&mut text, "messages", items, &marks, "}]}", is_marked);
    if text.ends_with(',') {
        text.pop();
    }
    text.push('}');
    Encoded {
        body: text,
        warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
    }
}

/// Returns the parameters of the request, always in the same order.
fn parameters(
    request: &RequestParts<'_>,
    thinking: &Thinking,
    warnings: &mut Vec<String>,
) -> Vec<(String, Value)> {
    let options = request.options.fields();
    let options = options.filter(|(name, _)| !SPECIAL.contains(name));
    let mut fields: Vec<(String, Value)> = options
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    let mut set = |name: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    };
    let settings = request.settings;
    set("max_tokens", Some(thinking.max_tokens.into()));
    let (temperature, top_p) = sampling(request, thinking, warnings);
    set("temperature", temperature.map(Value::from));
    set("top_p", top_p.map(Value::from));
    let stop = settings.stop_sequences.clone();
    set(
        "stop_sequences",
        stop.filter(|list| !list.is_empty()).map(Value::from),
    );
    set("thinking", thinking.parameter.clone());
    set("output_config", output_config(request, thinking));
    set("container", container(request));
    if !request.tools.is_empty() {
        set("tool_choice", tool_choice(request, thinking, warnings));
    }
    if request.streams {
        set("stream", Some(true.into()));
    }
    warnings.extend(request.unsupported(&INFO));
    fields
}

/// Returns the temperature and `top_p`, as far as they can be sent.
fn sampling(
    request: &RequestParts<'_>,
    thinking: &Thinking,
    warnings: &mut Vec<String>,
) -> (Option<f64>, Option<f64>) {
    let (temperature, top_p) = (request.settings.temperature, request.settings.top_p);
    if temperature.is_none() && top_p.is_none() {
        return (None, None);
    }
    if thinking.is_on() {
        let why =
            "`temperature` and `top_p` are left out: the API does not accept them with thinking";
        warnings.push(why.to_owned());
        return (None, None);
    }
    match temperature {
        _ if request.quirks.has(NO_SAMPLING) => (None, None),
        Some(temperature) if request.quirks.has(ONE_SAMPLING) => (Some(temperature), None),
        temperature => (temperature, top_p),
    }
}

fn tool_choice(
    request: &RequestParts<'_>,
    thinking: &Thinking,
    warnings: &mut Vec<String>,
) -> Option<Value> {
    let settings = request.settings;
    let is_serial = settings.parallel_tool_calls == Some(false);
    let mut choice = match &settings.tool_choice {
        Some(ToolChoice::None) => return Some(json!({ "type": "none" })),
        Some(ToolChoice::Required | ToolChoice::Tool(_)) if thinking.is_on() => {
            let why =
                "the tool choice is `auto`: the API does not accept a forced call with thinking";
            warnings.push(why.to_owned());
            json!({ "type": "auto" })
        }
        Some(ToolChoice::Required) => json!({ "type": "any" }),
        Some(ToolChoice::Tool(name)) => json!({ "type": "tool", "name": name }),
        Some(_) => json!({ "type": "auto" }),
        None if is_serial => json!({ "type": "auto" }),
        None => return None,
    };
    if let (Value::Object(fields), true) = (&mut choice, is_serial) {
        fields.insert("disable_parallel_tool_use".to_owned(), true.into());
    }
    Some(choice)
}

/// Returns the output configuration: that of the options, with the effort and the format of a typed answer.
fn output_config(request: &RequestParts<'_>, thinking: &Thinking) -> Option<Value> {
    let mut config = match request.options.get("output_config") {
        Some(Value::Object(config)) => config.clone(),
        Some(other) => return Some(other.clone()),
        None => Map::new(),
    };
    if let Some(effort) = &thinking.effort {
        config
            .entry("effort")
            .or_insert_with(|| effort.as_str().into());
    }
    if let Some(schema) = request.answer.and_then(|answer| answer.schema) {
        let format = || json!({ "type": "json_schema", "schema": schema });
        config.entry("format").or_insert_with(format);
    }
    (!config.is_empty()).then_some(Value::Object(config))
}

/// Returns the container of the response that the request continues, in which its calls wait.
fn container(request: &RequestParts<'_>) -> Option<Value> {
    if request.options.has("container") {
        return None;
    }
    let of = |message: &WireMessage| message.extra.get(CONTAINER).cloned();
    open_exchange(request.messages).filter_map(of).last()
}

/// Writes a field with a list of JSON texts, some of which are marked, and a comma; nothing if the list is empty.
fn push_marked<'t>(
    text: &mut String,
    name: &str,
    items: impl Iterator<Item = &'t str>,
    marks: &Marks,
    end: &str,
    is_marked: impl Fn(usize) -> bool,
) {
    let before = text.len();
    for (at, item) in items.enumerate() {
        if at == 0 {
            text.push_str(&format!(r#""{name}":["#));
        } else {
            text.push(',');
        }
        if is_marked(at) {
            marks.append(text, item, end);
        } else {
            text.push_str(item);
        }
    }
    if text.len() > before {
        text.push_str("],");
    }
}
