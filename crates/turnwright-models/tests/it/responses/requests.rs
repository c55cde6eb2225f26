//! Requests that another client sent to real servers, reproduced with this crate.
//!
//! Each recorded body is split into options, tools and a conversation. The conversation is run, so that its records
//! contain our own state, and a turn sends them. The result must be equal to the recording, except for differences that
//! have a name and a reason.

mod differences;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use turnwright_core::artifact::Inline;
use turnwright_core::media::MediaKind;
use turnwright_core::record::Record;
use turnwright_core::schema::Schema;
use turnwright_core::settings::ToolChoice;
use turnwright_core::spool::MemoryReader;
use turnwright_core::{
    Effects, Error, Media, Message, ModelSettings, Next, Tool, ToolContext, TurnContext, TurnInput,
};
use turnwright_models::http::{Body, Request as Sent, Response, Transport};
use turnwright_models::responses::{Options, ResponsesCodec, SystemPrompt};
use turnwright_models::{ModelBuilder, Responses};

use self::differences::{DIFFERENCES, object};
use super::recorded::recorded;

#[tokio::test]
async fn recorded_requests_are_reproduced_from_turn_records() {
    let Some(recorded) = recorded() else {
        return;
    };
    let recorded: Vec<_> = recorded
        .into_iter()
        .filter(|item| item.request.is_object())
        .collect();
    let mut needed: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut equal, mut wrong) = (0, Vec::new());
    for exchange in &recorded {
        let sent = Request::read(&exchange.request).send().await;
        match explain(&exchange.request, &sent) {
            Ok(names) if names.is_empty() => equal += 1,
            Ok(names) => names
                .into_iter()
                .for_each(|name| *needed.entry(name).or_default() += 1),
            Err(why) => wrong.push(format!("{}: {why}", exchange.name())),
        }
    }
    crate::say(format_args!(
        "responses: {} requests compared, {equal} equal as they are, {} not equal",
        recorded.len(),
        wrong.len()
    ));
    for (name, why, _) in DIFFERENCES {
        crate::say(format_args!(
            "{:>5}  {name}: {why}",
            needed.get(name).copied().unwrap_or(0)
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if std::env::var_os("TURNWRIGHT_WIRE").is_none() {
        for (name, ..) in DIFFERENCES {
            assert!(needed.contains_key(name), "no request needs `{name}`");
        }
    }
}

/// Returns the names of the differences without which the two are not equal.
fn explain(recorded: &Value, sent: &Value) -> Result<Vec<&'static str>, String> {
    let without = |left_out: Option<&str>| {
        let (mut recorded, mut sent) = (recorded.clone(), sent.clone());
        for (name, _, even_out) in DIFFERENCES {
            if Some(*name) != left_out {
                even_out(&mut recorded, &mut sent);
            }
        }
        (recorded, sent)
    };
    if recorded == sent {
        return Ok(Vec::new());
    }
    let (one, two) = without(None);
    if one != two {
        return Err(format!("\n  recorded {one}\n  sent     {two}"));
    }
    let is_needed = |name: &&str| {
        let (one, two) = without(Some(name));
        one != two
    };
    Ok(DIFFERENCES
        .iter()
        .map(|(name, ..)| *name)
        .filter(is_needed)
        .collect())
}

/// The parts of a recorded request.
struct Request {
    builder: ModelBuilder<ResponsesCodec>,
    caught: Caught,
    system: String,
    tools: Vec<Tool>,
    conversation: Vec<Step>,
}

enum Step {
    User(Arc<Message>),
    /// The items of a response, and the results of its calls.
    Response {
        id: String,
        output: Vec<Value>,
        results: Vec<String>,
    },
}

impl Request {
    fn read(body: &Value) -> Self {
        let caught = Caught::answering(
            &json!([{
                "type": "message", "content": [{ "type": "output_text", "text": "Said." }],
            }]),
            "resp",
        );
        let is_strict = |tool: &Value| tool["strict"] == true;
        let how = match body.get("instructions") {
            Some(_) => SystemPrompt::Instructions,
            None => SystemPrompt::System,
        };
        let previous = body["previous_response_id"].as_str();
        let tools: Vec<&Value> = body["tools"].as_array().into_iter().flatten().collect();
        let builder = caught
            .builder()
            .options(options(body))
            .settings(settings(body))
            .strict_tools(!tools.is_empty() && tools.iter().all(|tool| is_strict(tool)))
            .system_prompt(how)
            .use_previous_response_id(previous.is_some());
        let mut request = Request {
            builder,
            caught,
            system: body["instructions"].as_str().unwrap_or_default().to_owned(),
            tools: tools.into_iter().map(tool).collect(),
            conversation: Vec::new(),
        };
        if let Some(id) = previous {
            let hello = Message::user("Hello").build().unwrap();
            let output = vec![json!({ "type": "message", "content": "Hi." })];
            request.conversation.push(Step::User(hello));
            request.conversation.push(Step::Response {
                id: id.to_owned(),
                output,
                results: Vec::new(),
            });
        }
        for (index, item) in body["input"].as_array().unwrap().iter().enumerate() {
            request.add(index, item);
        }
        request
    }

    fn add(&mut self, index: usize, item: &Value) {
        match (item["type"].as_str().unwrap(), item["role"].as_str()) {
            ("message", Some("system")) if index == 0 => self.system = text(&item["content"]),
            ("message", Some("user" | "system")) => {
                self.conversation.push(Step::User(user(&item["content"])));
            }
            ("function_call_output", _) => {
                let Some(Step::Response { results, .. }) = self.conversation.last_mut() else {
                    panic!("a result without a call");
                };
                results.push(item["output"].as_str().unwrap().to_owned());
            }
            _ => match self.conversation.last_mut() {
                Some(Step::Response {
                    output, results, ..
                }) if results.is_empty() => {
                    output.push(item.clone());
                }
                _ => self.conversation.push(Step::Response {
                    id: "resp".to_owned(),
                    output: vec![item.clone()],
                    results: Vec::new(),
                }),
            },
        }
    }

    /// Runs the conversation, and returns the request of the next turn.
    async fn send(self) -> Value {
        let mut history = Vec::new();
        for step in &self.conversation {
            match step {
                Step::User(message) => history.push(Record::Message(Arc::clone(message))),
                Step::Response {
                    id,
                    output,
                    results,
                } => {
                    let left = respond(id, output, results, history.clone()).await;
                    history.extend(left);
                }
            }
        }
        let runner = turnwright_core::runner(self.builder.build().unwrap())
            .instructions(self.system)
            .tools(self.tools)
            .turn_input(hydrating(history))
            .build()
            .unwrap();
        let outcome = runner.run(TurnInput::empty()).await;
        assert_eq!(outcome.into_answer().unwrap(), "Said.");
        self.caught.only()
    }
}

/// Returns the records of a turn in which the model responds with these items only.
async fn respond(
    id: &str,
    output: &[Value],
    results: &[String],
    history: Vec<Record>,
) -> Vec<Record> {
    let caught = Caught::answering(&output.into(), id);
    let model = caught
        .builder()
        .model("any")
        .options(Options::new().stream(false));
    let model = model.use_previous_response_id(true).build().unwrap();
    let runner = turnwright_core::runner(model)
        .tools(tools_for(output, results))
        .turn_input(hydrating(history))
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::empty()).await;
    assert_eq!(outcome.tool_calls().count(), results.len());
    assert!(outcome.tool_calls().all(|call| !call.is_error()));
    outcome.records
}

fn hydrating(history: Vec<Record>) -> impl turnwright_core::Middleware<TurnContext> + 'static {
    move |ctx: TurnContext, next: Next<TurnContext>| {
        ctx.records().hydrate(history.clone());
        async move { next.run().await }
    }
}

/// Returns tools that accept any arguments and return the recorded results, each once.
fn tools_for(output: &[Value], results: &[String]) -> Vec<Tool> {
    let calls = output.iter().filter(|item| item["type"] == "function_call");
    let mut by_name: HashMap<&str, VecDeque<(Value, String)>> = HashMap::new();
    for (call, result) in calls.zip(results) {
        let args = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
        let name = call["name"].as_str().unwrap();
        by_name
            .entry(name)
            .or_default()
            .push_back((args, result.clone()));
    }
    let tool = |(name, recorded): (&str, VecDeque<(Value, String)>)| {
        let recorded = Mutex::new(recorded);
        Tool::dynamic(name, json!({ "type": "object" }))
            .description("Returns what was recorded.")
            .effects(Effects::ReadOnly)
            .inline(Inline::Always)
            .handler(move |args: Value, _: ToolContext| {
                let mut recorded = recorded.lock().unwrap();
                let at = recorded.iter().position(|(asked, _)| *asked == args);
                let (_, result) = recorded.remove(at.unwrap()).unwrap();
                async move { result }
            })
            .build()
            .unwrap()
    };
    by_name.into_iter().map(tool).collect()
}

/// Returns the parameters specific to this protocol.
fn options(body: &Value) -> Options {
    let mut options = Options::new();
    for (name, value) in body.as_object().unwrap() {
        match name.as_str() {
            "reasoning" => {
                let mut rest = value.clone();
                object(&mut rest).remove("effort");
                options = options.reasoning(rest);
            }
            _ => {
                if let Ok(with) = options.clone().extra(name, value.clone()) {
                    options = with;
                }
            }
        }
    }
    options.stream(body["stream"] == true)
}

/// Returns the parameters common to all protocols.
fn settings(body: &Value) -> ModelSettings {
    let mut settings = ModelSettings::new();
    settings.temperature = body["temperature"].as_f64();
    settings.top_p = body["top_p"].as_f64();
    settings.max_output_tokens = body["max_output_tokens"].as_u64();
    let effort = body["reasoning"]["effort"].as_str();
    settings.reasoning_effort = effort.map(|effort| effort.to_owned().into());
    settings.parallel_tool_calls = body["parallel_tool_calls"].as_bool();
    settings.tool_choice = match &body["tool_choice"] {
        Value::Null => None,
        Value::String(word) if word == "required" => Some(ToolChoice::Required),
        Value::String(word) if word == "none" => Some(ToolChoice::None),
        Value::String(word) => panic!("a tool choice of {word}"),
        named => Some(ToolChoice::Tool(named["name"].as_str().unwrap().to_owned())),
    };
    settings
}

fn tool(tool: &Value) -> Tool {
    let mut formats = Vec::new();
    find_formats(&tool["parameters"], &mut formats);
    let schema = formats
        .into_iter()
        .fold(Schema::options(), |options, item| {
            options.annotation_format(item)
        })
        .document(tool["parameters"].clone());
    Tool::dynamic(tool["name"].as_str().unwrap(), schema)
        .description(tool["description"].as_str().unwrap())
        .handler(|_: Value, _: ToolContext| async { "" })
        .build()
        .unwrap()
}

/// Returns the formats in a document.
fn find_formats<'d>(document: &'d Value, found: &mut Vec<&'d str>) {
    match document {
        Value::Object(fields) => {
            found.extend(document["format"].as_str());
            fields.values().for_each(|item| find_formats(item, found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_formats(item, found)),
        _ => {}
    }
}

fn user(content: &Value) -> Arc<Message> {
    let parts = content.as_array().into_iter().flatten();
    let files = parts.filter(|part| part["type"] == "input_file");
    let message = files.fold(Message::user(text(content)), |message, part| {
        let bytes = part["file_url"].as_str().unwrap().as_bytes().to_vec();
        let reader = MemoryReader::new(bytes);
        let media = Media::user_attachment(
            MediaKind::Document,
            "application/pdf",
            "document.pdf",
            reader,
        );
        message.media(media.build().unwrap())
    });
    message.build().unwrap()
}

/// Returns the text of a message.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        _ => {
            let parts = content.as_array().into_iter().flatten();
            let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n\n")
        }
    }
}

/// Intercepts requests. The first is answered with these items, later ones fail.
#[derive(Clone)]
struct Caught {
    answer: Bytes,
    sent: Arc<Mutex<Vec<Bytes>>>,
}

impl Caught {
    fn answering(output: &Value, id: &str) -> Self {
        let answer = json!({ "id": id, "status": "completed", "output": output });
        Caught {
            answer: answer.to_string().into(),
            sent: Arc::default(),
        }
    }

    fn builder(&self) -> ModelBuilder<ResponsesCodec> {
        Responses::builder()
            .base_url("http://127.0.0.1:9/v1")
            .transport(self.clone())
            .explain_envelopes(false)
            .accepted_media(|_| true)
    }

    fn only(&self) -> Value {
        let sent = self.sent.lock().unwrap();
        assert_eq!(sent.len(), 1);
        serde_json::from_slice(&sent[0]).unwrap()
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
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Ok(Response::new(status, headers, Body::full(body)))
    }
}

impl std::fmt::Debug for Caught {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Caught")
    }
}
