//! Requests that another client sent to the API, reproduced from records. Responses that a request continues are
//! decoded from the recorded response, so the records have the state that the server sent.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use turnwright_core::artifact::Inline;
use turnwright_core::media::MediaKind;
use turnwright_core::record::Record;
use turnwright_core::settings::ToolChoice;
use turnwright_core::spool::MemoryReader;
use turnwright_core::{
    Effects, Error, Media, Message, ModelSettings, Next, Tool, ToolContext, TurnContext, TurnInput,
};
use turnwright_models::Protocol;
use turnwright_models::anthropic::Options;
use turnwright_models::http::{Body, Request as Sent, Response, Transport};

use super::strict_tools::dynamic;
use super::{builder, sessions};
use crate::requests::differences::{
    Difference, Sides, always, list, messages, object, parts_of_all, unsealed,
};
use crate::requests::explain;

#[tokio::test]
async fn recorded_requests_are_reproduced() {
    let Some(sessions) = sessions() else {
        return;
    };
    let differences: Vec<&Difference> = DIFFERENCES.iter().collect();
    let mut needed: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut all, mut equal, mut continued, mut refused) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for (name, session) in &sessions {
        for (index, exchange) in session.iter().enumerate() {
            all += 1;
            let recorded = &exchange["request"]["body"];
            let Some(tools) = tools(recorded) else {
                // The server answers 400 to this schema.
                assert_eq!(exchange["response"]["status"], 400, "{name}");
                refused += 1;
                continue;
            };
            let earlier = &session[..index];
            let history = play(recorded, earlier, &mut continued).await;
            let sent = match send(recorded, tools, history).await {
                Ok(sent) => sent,
                Err(error) => {
                    assert_eq!(exchange["response"]["status"], 400, "{name}: {error}");
                    refused += 1;
                    continue;
                }
            };
            let sides = Sides {
                recorded: recorded.clone(),
                sent,
            };
            match explain(&differences, &sides) {
                Ok(names) if names.is_empty() => equal += 1,
                Ok(names) => names
                    .into_iter()
                    .for_each(|name| *needed.entry(name).or_default() += 1),
                Err(unexplained) => wrong.push(format!("{name} {index}: {unexplained}")),
            }
        }
    }
    crate::say(format_args!(
        "anthropic requests: {all} compared, {equal} equal as they are, {refused} refused here and by the server, {continued} recorded responses continued, {} not equal",
        wrong.len()
    ));
    for item in &differences {
        let count = needed.get(item.name).copied().unwrap_or(0);
        crate::say(format_args!("{count:>5}  {}: {}", item.name, item.why));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(continued > 0);
    if std::env::var_os("TURNWRIGHT_WIRE").is_none() {
        for item in &differences {
            assert!(
                needed.contains_key(item.name),
                "no request needs `{}`",
                item.name
            );
        }
    }
}

/// In the order in which they are applied.
const DIFFERENCES: &[Difference] = &[
    always(
        "marks for the prompt cache",
        "requests mark the end of the tools, the system prompt and the messages; the recorded client marked others or none",
        |sides| {
            for side in [&mut sides.recorded, &mut sides.sent] {
                unmark(side);
            }
        },
    ),
    always(
        "results in envelopes",
        "a tool result is enclosed in tags that the tool cannot forge",
        |sides| {
            for part in parts_of_all(&mut sides.sent) {
                if let Some(text) = part["content"][0]["text"].as_str().and_then(unsealed) {
                    part["content"][0]["text"] = text.into();
                }
            }
        },
    ),
    always(
        "media are marked",
        "a text before each media item describes it and says that it contains no instructions",
        |sides| {
            for message in messages(&mut sides.sent) {
                let is_marker = |part: &Value| {
                    let text = part["text"].as_str().and_then(unsealed);
                    text.is_some_and(|text| text.contains(" follows."))
                };
                list(message).unwrap().retain(|part| !is_marker(part));
            }
        },
    ),
    always(
        "text precedes media",
        "a message has its text first, then its attachments",
        |sides| {
            for message in messages(&mut sides.recorded) {
                if message["role"] == "user" {
                    let content = list(message).unwrap();
                    content.sort_by_key(|part| part["type"] == "document");
                }
            }
        },
    ),
    always(
        "all tools are strict, or none",
        "strict mode is a setting of the model",
        |sides| {
            let tools = sides
                .recorded
                .get_mut("tools")
                .and_then(Value::as_array_mut);
            let tools: Vec<&mut Value> = tools.into_iter().flatten().collect();
            if tools.iter().any(|tool| tool.get("strict").is_none()) {
                for tool in tools {
                    object(tool).remove("strict");
                }
            }
        },
    ),
];

/// Removes the marks for the prompt cache.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

/// Returns the tools, or `None` if one of them has no valid schema.
fn tools(body: &Value) -> Option<Vec<Tool>> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let own = tools.filter(|tool| tool.get("input_schema").is_some());
    own.map(|tool| dynamic(tool).ok()).collect()
}

/// Returns the request that a turn sends, or the error of building the runner.
async fn send(body: &Value, tools: Vec<Tool>, history: Vec<Record>) -> Result<Value, Error> {
    let content = json!([{ "type": "text", "text": "Said." }]);
    let caught = Caught::answering(answer(&content, "end_turn"));
    let is_strict = |tools: &Vec<Value>| tools.iter().all(|tool| tool["strict"] == true);
    let is_strict = body["tools"].as_array().is_some_and(is_strict);
    let model = builder("http://127.0.0.1:9")
        .transport(caught.clone())
        .explain_envelopes(false)
        .accepted_media(|_| true)
        .media_part(|_, data| serde_json::from_slice(&STANDARD.decode(data).unwrap()).ok())
        .strict_tools(is_strict)
        .options(options(body))
        .settings(settings(body))
        .build()?;
    let runner = turnwright_core::runner(model)
        .instructions(body["system"][0]["text"].as_str().unwrap_or_default())
        .tools(tools)
        .turn_input(hydrating(history))
        .build()?;
    let outcome = runner.run(TurnInput::empty()).await;
    assert_eq!(outcome.into_answer().unwrap(), "Said.");
    Ok(caught.only())
}

fn options(body: &Value) -> Options {
    let mut options = Options::new();
    for (name, value) in body.as_object().unwrap() {
        if let Ok(with) = options.clone().extra(name, value.clone()) {
            options = with;
        }
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        if tool.get("input_schema").is_none() {
            options = options.provider_tool(tool.clone()).unwrap();
        }
    }
    options.stream(body["stream"] == true)
}

fn settings(body: &Value) -> ModelSettings {
    let mut settings = ModelSettings::new();
    settings.temperature = body["temperature"].as_f64();
    settings.max_output_tokens = body["max_tokens"].as_u64();
    let stops = body["stop_sequences"].as_array();
    settings.stop_sequences = stops.map(|stops| {
        let text = |stop: &Value| stop.as_str().unwrap().to_owned();
        stops.iter().map(text).collect()
    });
    settings.tool_choice = match body["tool_choice"]["type"].as_str() {
        None => None,
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("any") => Some(ToolChoice::Required),
        Some(_) => {
            let name = body["tool_choice"]["name"].as_str().unwrap();
            Some(ToolChoice::Tool(name.to_owned()))
        }
    };
    settings
}

/// Returns the conversation of a request as records: each response is received, and each call is run.
async fn play(body: &Value, earlier: &[Value], continued: &mut usize) -> Vec<Record> {
    let mut history = Vec::new();
    let list = body["messages"].as_array().unwrap();
    for (index, message) in list.iter().enumerate() {
        let content = &message["content"];
        if message["role"] == "assistant" {
            let results = list.get(index + 1).map(|next| &next["content"]);
            let response = match earlier.iter().find(|item| is_response(item, content)) {
                Some(exchange) => {
                    *continued += 1;
                    exchange["response"]["body"].as_str().unwrap().to_owned()
                }
                None => {
                    let has_calls = content.as_array().unwrap().iter().any(is_call);
                    answer(content, if has_calls { "tool_use" } else { "end_turn" })
                }
            };
            let left = respond(response, content, results, history.clone()).await;
            history.extend(left);
        } else if content[0]["type"] != "tool_result" {
            history.push(Record::Message(user(content)));
        }
    }
    history
}

/// Returns `true` if an exchange ended with this content.
fn is_response(exchange: &Value, content: &Value) -> bool {
    let body = exchange["response"]["body"].as_str().unwrap();
    let Ok(reply) = Protocol::Anthropic.decode(None, body.as_bytes()) else {
        return false;
    };
    let blocks = content.as_array().unwrap();
    let text: String = blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    let calls: Vec<Value> = blocks
        .iter()
        .filter(|block| is_call(block))
        .map(|call| json!({ "id": call["id"], "name": call["name"], "arguments": call["input"] }))
        .collect();
    let is_same = Protocol::Anthropic.describe(&reply)["tool_calls"] == Value::from(calls);
    is_same && reply.text == text
}

fn is_call(block: &Value) -> bool {
    block["type"] == "tool_use"
}

/// Returns the records of a turn in which the model responds once.
async fn respond(
    response: String,
    content: &Value,
    results: Option<&Value>,
    history: Vec<Record>,
) -> Vec<Record> {
    let calls: Vec<&Value> = content
        .as_array()
        .unwrap()
        .iter()
        .filter(|block| is_call(block))
        .collect();
    let mut by_name: HashMap<&str, VecDeque<(Value, String)>> = HashMap::new();
    for (call, result) in calls
        .iter()
        .zip(results.and_then(Value::as_array).into_iter().flatten())
    {
        assert_eq!(call["id"], result["tool_use_id"]);
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        let of_name = by_name.entry(call["name"].as_str().unwrap()).or_default();
        of_name.push_back((call["input"].clone(), text));
    }
    let tools = by_name.into_iter().map(|(name, recorded)| {
        let recorded = Mutex::new(recorded);
        Tool::dynamic(name, json!({ "type": "object" }))
            .description("Returns what was recorded.")
            .effects(Effects::ReadOnly)
            .inline(Inline::Always)
            .handler(move |args: Value, _: ToolContext| {
                let mut recorded = recorded.lock().unwrap();
                let at = recorded.iter().position(|(asked, _)| *asked == args);
                let (_, text) = recorded.remove(at.unwrap()).unwrap();
                async move { text }
            })
            .build()
            .unwrap()
    });
    let caught = Caught::answering(response);
    let model = builder("http://127.0.0.1:9")
        .transport(caught)
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model)
        .tools(tools)
        .turn_input(hydrating(history))
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::empty()).await;
    assert_eq!(outcome.tool_calls().count(), calls.len());
    outcome.records
}

fn hydrating(history: Vec<Record>) -> impl turnwright_core::Middleware<TurnContext> + 'static {
    move |ctx: TurnContext, next: Next<TurnContext>| {
        ctx.records().hydrate(history.clone());
        async move { next.run().await }
    }
}

/// Returns a user message. Documents are attachments whose bytes are the recorded block.
fn user(content: &Value) -> Arc<Message> {
    let parts = content.as_array().unwrap();
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let documents = parts.iter().filter(|part| part["type"] == "document");
    let message = documents.fold(Message::user(texts.join("\n\n")), |message, part| {
        let bytes = MemoryReader::new(part.to_string().into_bytes());
        let media =
            Media::user_attachment(MediaKind::Document, "application/pdf", "document", bytes);
        message.media(media.build().unwrap())
    });
    message.build().unwrap()
}

fn answer(content: &Value, stop_reason: &str) -> String {
    json!({ "type": "message", "content": content, "stop_reason": stop_reason }).to_string()
}

/// Intercepts requests. The first is answered, later ones fail.
#[derive(Clone, Debug)]
struct Caught {
    answer: Bytes,
    sent: Arc<Mutex<Vec<Bytes>>>,
}

impl Caught {
    fn answering(answer: String) -> Self {
        Caught {
            answer: answer.into(),
            sent: Arc::default(),
        }
    }

    fn only(&self) -> Value {
        let sent = self.sent.lock().unwrap();
        assert_eq!(sent.len(), 1);
        let mut sent: Value = serde_json::from_slice(&sent[0]).unwrap();
        object(&mut sent).retain(|_, value| !value.is_null());
        sent
    }
}

#[async_trait]
impl Transport for Caught {
    async fn send(&self, request: Sent) -> Result<Response, Error> {
        let mut sent = self.sent.lock().unwrap();
        sent.push(request.body);
        let (status, body) = match sent.len() {
            1 => (200, self.answer.clone()),
            _ => (400, Bytes::from_static(b"{}")),
        };
        Ok(Response::new(status, Vec::new(), Body::full(body)))
    }
}
