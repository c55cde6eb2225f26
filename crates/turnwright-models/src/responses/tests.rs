use std::sync::Arc;

use serde_json::{Map, Value, json};
use turnwright_core::settings::{ReasoningEffort, ToolChoice};
use turnwright_core::{Error, ErrorCode, ModelSettings, Tool, ToolContext};

use super::{Options, Responses, ResponsesCodec, SystemPrompt, quirks};
use crate::ModelBuilder;
use crate::engine::{
    AnswerSchema, Assistant, Call, CallResult, Codec as _, ErrorBody, Item, Piece, Quirks,
    RequestParts, User, UserPart, WireMessage,
};

fn builder() -> ModelBuilder<ResponsesCodec> {
    ModelBuilder::from_lookup(|_| None)
        .base_url("http://127.0.0.1:9/v1")
        .model("m")
}

/// A request in the making.
struct Draft {
    codec: ResponsesCodec,
    model: &'static str,
    options: Options,
    settings: ModelSettings,
    tools: Vec<Arc<str>>,
    answer: Option<(Option<Value>, &'static str)>,
    streams: bool,
    quirks: Quirks,
    messages: Vec<WireMessage>,
}

impl Default for Draft {
    fn default() -> Self {
        Draft {
            codec: ResponsesCodec::default(),
            model: "m",
            options: Options::new(),
            settings: ModelSettings::new(),
            tools: Vec::new(),
            answer: None,
            streams: false,
            quirks: Quirks::default(),
            messages: Vec::new(),
        }
    }
}

impl Draft {
    fn with(mut self, item: Item<'_>) -> Self {
        self.codec.write(item, &mut self.messages);
        self
    }

    fn body(&self) -> Value {
        self.encoded().0
    }

    fn encoded(&self) -> (Value, Option<String>) {
        let model = builder().options(self.options.clone()).build().unwrap();
        let messages: Vec<&WireMessage> = self.messages.iter().collect();
        let encoded = self.codec.body(&RequestParts {
            model: self.model,
            streams: self.streams,
            settings: &self.settings,
            options: &model.engine().options,
            tools: &self.tools,
            functions: 0,
            answer: self.answer.as_ref().map(|(schema, name)| AnswerSchema {
                name,
                schema: schema.as_ref(),
            }),
            messages: &messages,
            quirks: self.quirks,
        });
        (
            serde_json::from_str(&encoded.body).unwrap(),
            encoded.warning,
        )
    }
}

fn user(text: &str) -> Item<'static> {
    Item::User(User {
        parts: vec![UserPart::Text(text.to_owned())],
        name: None,
    })
}

fn assistant(pieces: Vec<Piece>) -> Item<'static> {
    Item::Assistant(Assistant {
        pieces,
        state: Map::new(),
        is_own: true,
    })
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is no object"),
    }
}

fn text(text: &str, attached: Value) -> Piece {
    Piece::Text {
        text: text.to_owned(),
        fields: fields(attached),
    }
}

fn reasoning(text: &str, attached: Value) -> Piece {
    Piece::Reasoning {
        text: text.to_owned(),
        fields: fields(attached),
    }
}

fn call(id: &str, attached: Value) -> Piece {
    Piece::Call(Call {
        id: id.to_owned(),
        has_own_id: true,
        name: "f".to_owned(),
        arguments: "{}".to_owned(),
        fields: fields(attached),
    })
}

fn input_of(pieces: Vec<Piece>) -> Vec<Value> {
    let body = Draft::default().with(assistant(pieces)).body();
    body["input"].as_array().unwrap().clone()
}

fn tool(schema: Value) -> Tool {
    Tool::dynamic("f", schema)
        .description("Does it.")
        .handler(|_: Value, _: ToolContext| async { "" })
        .build()
        .unwrap()
}

#[test]
fn environment_sets_server_key_and_model() {
    let from = |text: &'static [(&str, &str)]| -> Result<Responses, Error> {
        let env = |name: &str| {
            let found = text.iter().find(|(item, _)| *item == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        ModelBuilder::<ResponsesCodec>::from_lookup(env).build()
    };
    let model = from(&[("OPENAI_API_KEY", "sk-1"), ("OPENAI_MODEL", "gpt-5")]).unwrap();
    let shown = format!("{model:?}");
    assert!(
        shown.contains("https://api.openai.com/v1/responses"),
        "{shown}"
    );
    assert!(!shown.contains("sk-1"));
    let model = from(&[
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1/responses/"),
        ("OPENAI_MODEL", "m"),
    ]);
    assert!(format!("{:?}", model.unwrap()).contains("http://127.0.0.1:1/v1/responses"));
    let error = from(&[("OPENAI_MODEL", "gpt-5")]).unwrap_err();
    assert!(error.message().contains("OPENAI_API_KEY"), "{error}");
    assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG);
}

#[test]
fn requests_are_stateless_and_have_the_system_prompt_first() {
    let draft = || {
        Draft::default()
            .with(Item::System("Be \"brief\"."))
            .with(user("Hi"))
    };
    let message =
        |role: &str| json!({ "type": "message", "role": role, "content": "Be \"brief\"." });
    let hi = json!({ "type": "message", "role": "user", "content": "Hi" });
    let expected = json!({
        "model": "m", "store": false, "include": ["reasoning.encrypted_content"], "input": [message("system"), hi],
    });
    assert_eq!(draft().body(), expected);
    let mut developer = draft();
    developer.codec.system = SystemPrompt::Developer;
    assert_eq!(developer.body()["input"], json!([message("developer"), hi]));
    let mut instructions = draft();
    instructions.codec.system = SystemPrompt::Instructions;
    let body = instructions.body();
    assert_eq!(
        (&body["instructions"], &body["input"]),
        (&json!("Be \"brief\"."), &json!([hi]))
    );
}

#[test]
fn settings_and_options_are_sent_under_the_names_of_the_api() {
    let mut draft = Draft::default().with(user("Hi"));
    draft.settings = ModelSettings::new()
        .temperature(0.5)
        .top_p(0.9)
        .max_output_tokens(100)
        .reasoning_effort(ReasoningEffort::Low)
        .tool_choice(ToolChoice::Tool("f".to_owned()))
        .parallel_tool_calls(false);
    draft.options = Options::new()
        .reasoning(json!({ "context": "all_turns" }))
        .reasoning_summary("auto")
        .verbosity("low")
        .include(json!(["x"]))
        .store(true)
        .prompt_cache_key("k")
        .stream_options(json!({ "include_obfuscation": false }));
    draft.tools = vec![r#"{"type":"function"}"#.into()];
    draft.streams = true;
    let mut body = draft.body();
    let fields = body.as_object_mut().unwrap();
    fields.remove("input");
    let expected = json!({
        "model": "m", "stream": true, "store": true, "include": ["x", "reasoning.encrypted_content"],
        "temperature": 0.5, "top_p": 0.9, "max_output_tokens": 100, "parallel_tool_calls": false,
        "tool_choice": { "type": "function", "name": "f" }, "tools": [{ "type": "function" }],
        "reasoning": { "effort": "low", "summary": "auto", "context": "all_turns" },
        "text": { "verbosity": "low" }, "prompt_cache_key": "k",
        "stream_options": { "include_obfuscation": false },
    });
    assert_eq!(body, expected);
    // Without tools and streaming, what belongs to them is left out.
    draft.tools = Vec::new();
    draft.streams = false;
    let body = draft.body();
    for name in [
        "tool_choice",
        "parallel_tool_calls",
        "tools",
        "stream",
        "stream_options",
    ] {
        assert_eq!(body.get(name), None, "{name}");
    }
}

#[test]
fn tool_choices_have_their_words() {
    let mut draft = Draft::default().with(user("Hi"));
    draft.tools = vec!["{}".into()];
    for (choice, word) in [
        (ToolChoice::Auto, "auto"),
        (ToolChoice::None, "none"),
        (ToolChoice::Required, "required"),
    ] {
        draft.settings = ModelSettings::new().tool_choice(choice);
        assert_eq!(draft.body()["tool_choice"], word);
    }
}

#[test]
fn settings_without_a_parameter_are_named_in_a_warning() {
    let mut draft = Draft::default().with(user("Hi"));
    assert_eq!(draft.encoded().1, None);
    draft.settings = ModelSettings::new().seed(1).stop_sequences(["x"]);
    let (body, warning) = draft.encoded();
    assert_eq!((body.get("seed"), body.get("stop")), (None, None));
    let warning = warning.unwrap();
    assert!(warning.ends_with("stop_sequences, seed"), "{warning}");
}

#[test]
fn encrypted_reasoning_is_requested_where_it_exists() {
    let mut draft = Draft::default().with(user("Hi"));
    draft.model = "gpt-4o-mini";
    assert_eq!(draft.body().get("include"), None);
    draft.model = "o3";
    assert!(draft.body().get("include").is_some());
    draft.quirks = quirks::NO_ENCRYPTED_REASONING;
    assert_eq!(draft.body().get("include"), None);
    draft.quirks = Quirks::default();
    draft.options = Options::new().include(Value::Null);
    assert_eq!(draft.body().get("include"), None);
}

#[test]
fn typed_answers_are_a_text_format() {
    let mut draft = Draft::default().with(user("Hi"));
    let schema = json!({ "type": "object" });
    draft.answer = Some((Some(schema.clone()), "city"));
    let format =
        json!({ "type": "json_schema", "name": "city", "schema": schema, "strict": false });
    assert_eq!(draft.body()["text"], json!({ "format": format }));
    draft.answer = Some((None, "city"));
    draft.options = Options::new().verbosity("high");
    let text = json!({ "format": { "type": "json_object" }, "verbosity": "high" });
    assert_eq!(draft.body()["text"], text);
    draft.options = Options::new().text(json!({ "format": { "type": "text" } }));
    assert_eq!(
        draft.body()["text"],
        json!({ "format": { "type": "text" } })
    );
}

#[test]
fn tools_are_sent_as_they_are_with_strict_false() {
    let codec = ResponsesCodec::default();
    let sent = codec.tool(&tool(
        json!({ "type": "object", "properties": { "a": { "type": "string", "minLength": 1 } } }),
    ));
    let expected = json!({
        "type": "function", "name": "f", "description": "Does it.", "strict": false,
        "parameters": { "type": "object", "properties": { "a": { "type": "string", "minLength": 1 } } },
    });
    assert_eq!(sent, expected);
    let empty = codec.tool(&tool(json!({ "type": "object" })));
    assert_eq!(
        empty["parameters"],
        json!({ "type": "object", "properties": {} })
    );
    assert_eq!(codec.rejects_tool(&tool(json!({ "type": "object" }))), None);
}

#[test]
fn strict_mode_rejects_tools_that_do_not_fit() {
    let codec = ResponsesCodec {
        strict: true,
        ..ResponsesCodec::default()
    };
    let fits = tool(json!({
        "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false,
    }));
    assert_eq!(codec.rejects_tool(&fits), None);
    assert_eq!(codec.tool(&fits)["strict"], true);
    let open = tool(json!({ "type": "object", "properties": { "a": { "type": "string" } } }));
    let why = codec.rejects_tool(&open).unwrap();
    assert!(
        why.contains("/additionalProperties") && why.contains("deny_unknown_fields"),
        "{why}"
    );
}

#[test]
fn items_go_back_as_they_came() {
    let message = json!({ "id": "msg_1", "phase": "final_answer" });
    let annotation = json!({ "type": "url_citation" });
    let search = json!({ "type": "web_search_call", "id": "ws_1" });
    let items = input_of(vec![
        reasoning(
            "abc",
            json!({ "id": "rs_1", "encrypted_content": "e", "format": "f", "summary": [1, 1], "content": [1] }),
        ),
        Piece::Raw(search.clone()),
        reasoning("", json!({ "id": "rs_2", "encrypted_content": "e" })),
        text(
            "Well.",
            json!({ "message": message, "annotations": [annotation] }),
        ),
        text("No.", json!({ "more": true, "refusal": true })),
        call("call_1", json!({ "id": "fc_1" })),
    ]);
    let summary = |text: &str| json!({ "type": "summary_text", "text": text });
    let expected = json!([
        {
            "type": "reasoning", "id": "rs_1", "encrypted_content": "e", "format": "f",
            "summary": [summary("a"), summary("b")], "content": [{ "type": "reasoning_text", "text": "c" }],
        },
        search,
        { "type": "reasoning", "id": "rs_2", "encrypted_content": "e", "summary": [] },
        {
            "type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "phase": "final_answer",
            "content": [
                { "type": "output_text", "text": "Well.", "annotations": [annotation] },
                { "type": "refusal", "refusal": "No." },
            ],
        },
        { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}" },
    ]);
    assert_eq!(Value::from(items), expected);
}

#[test]
fn responses_of_other_servers_are_plain() {
    let items = input_of(vec![text("Hi", json!({})), call("x1", json!({}))]);
    let expected = json!([
        { "type": "message", "role": "assistant", "content": "Hi" },
        { "type": "function_call", "call_id": "x1", "name": "f", "arguments": "{}" },
    ]);
    assert_eq!(Value::from(items), expected);
}

#[test]
fn content_is_a_list_for_servers_that_expect_one() {
    let mut draft = Draft::default()
        .with(user("Hi"))
        .with(assistant(vec![text("Ho", json!({}))]));
    draft.quirks = quirks::CONTENT_PARTS;
    let body = draft.body();
    assert_eq!(body["input"][0]["content"], "Hi");
    let part = json!({ "type": "output_text", "text": "Ho", "annotations": [] });
    assert_eq!(body["input"][1]["content"], json!([part]));
}

#[test]
fn reasoning_precedes_what_it_led_to() {
    let message = || text("Hi", json!({ "message": { "id": "msg_1" } }));
    let thought = |id: &str| reasoning("", json!({ "id": id, "encrypted_content": "e" }));
    let ids = |pieces: Vec<Piece>| -> Vec<String> {
        let items = input_of(pieces);
        items
            .iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(vec![message(), thought("rs_1")]), ["rs_1", "msg_1"]);
    let pieces = vec![
        thought("rs_1"),
        message(),
        call("c", json!({ "id": "fc_1" })),
        thought("rs_2"),
    ];
    assert_eq!(ids(pieces), ["rs_1", "rs_2", "msg_1", "fc_1"]);
    assert_eq!(
        ids(vec![
            message(),
            thought("rs_1"),
            call("c", json!({ "id": "fc_1" }))
        ]),
        ["msg_1", "rs_1", "fc_1"]
    );
    // Servers reject reasoning that leads to nothing.
    assert_eq!(ids(vec![thought("rs_1")]), Vec::<String>::new());
}

#[test]
fn reasoning_that_the_server_cannot_use_is_left_out_with_the_ids_after_it() {
    let items = input_of(vec![
        reasoning("", json!({ "id": "rs_1" })),
        text("Hi", json!({ "message": { "id": "msg_1" } })),
        call("c", json!({ "id": "fc_1" })),
    ]);
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item.get("id").is_none()));
    // Text of servers that do not take it back.
    assert_eq!(
        input_of(vec![reasoning("Hm.", json!({})), text("Hi", json!({}))]).len(),
        1
    );
}

#[test]
fn results_follow_in_the_order_of_the_calls() {
    let result = |id: &str| CallResult {
        id: id.to_owned(),
        has_own_id: true,
        name: "f".to_owned(),
        parts: vec![
            UserPart::Text("one".to_owned()),
            UserPart::Text("two".to_owned()),
        ],
        is_error: false,
    };
    let custom = CallResult {
        parts: vec![
            UserPart::Text("see".to_owned()),
            UserPart::Custom(json!({ "type": "input_image", "file_id": "f" })),
        ],
        ..result("c")
    };
    let body = Draft::default()
        .with(Item::Results(vec![result("b"), result("a"), custom]))
        .body();
    let expected = json!([
        { "type": "function_call_output", "call_id": "b", "output": "one\n\ntwo" },
        { "type": "function_call_output", "call_id": "a", "output": "one\n\ntwo" },
        { "type": "function_call_output", "call_id": "c", "output": [
            { "type": "input_text", "text": "see" },
            { "type": "input_image", "file_id": "f" },
        ] },
    ]);
    assert_eq!(body["input"], expected);
}

#[test]
fn stored_responses_are_referred_to_if_something_follows() {
    let response = |id: &str, own: bool| {
        let call = Call {
            id: "c".to_owned(),
            has_own_id: own,
            name: "f".to_owned(),
            arguments: "{}".to_owned(),
            fields: Map::new(),
        };
        Item::Assistant(Assistant {
            pieces: vec![Piece::Call(call)],
            state: fields(json!({ "response_id": id })),
            is_own: true,
        })
    };
    let mut draft = Draft::default();
    draft.codec.chains = true;
    let draft = draft
        .with(Item::System("Be brief."))
        .with(user("Hi"))
        .with(response("r1", true));
    let body = draft.body();
    assert_eq!(
        (body.get("previous_response_id"), &body["store"]),
        (None, &json!(true))
    );
    assert_eq!(body["input"].as_array().unwrap().len(), 3);
    let mut draft = draft.with(user("Go on"));
    let body = draft.body();
    assert_eq!(
        (&body["previous_response_id"], &body["instructions"]),
        (&json!("r1"), &json!("Be brief."))
    );
    assert_eq!(
        body["input"],
        json!([{ "type": "message", "role": "user", "content": "Go on" }])
    );
    draft.quirks = quirks::NO_STORED_RESPONSES;
    assert_eq!(draft.body()["input"].as_array().unwrap().len(), 4);
    draft.quirks = Quirks::default();
    draft.options = Options::new().store(false);
    let body = draft.body();
    assert_eq!(
        (body.get("previous_response_id"), &body["store"]),
        (None, &json!(false))
    );
    // A call that the server knows under another id cannot be answered by reference.
    draft.options = Options::new();
    let draft = draft.with(response("r2", false)).with(user("Go on"));
    assert_eq!(draft.body()["previous_response_id"], "r1");
}

#[test]
fn errors_are_classified() {
    let class = |status: u16, message: &str, names: &str| {
        ResponsesCodec::default().classify(&ErrorBody {
            status,
            message,
            names,
        })
    };
    assert!(class(400, "Too long.", "context_length_exceeded").is_overflow);
    assert!(class(400, "This model's maximum prompt length is 5.", "").is_overflow);
    assert!(!class(500, "Too long.", "context_length_exceeded").is_overflow);
    assert!(class(429, "Pay.", "insufficient_quota").is_quota);
    assert!(!class(429, "Slow down.", "rate_limit_exceeded").is_quota);
    assert!(
        class(400, "x", "model_not_found")
            .advice
            .unwrap()
            .contains("model")
    );
    assert!(
        class(400, "Incorrect API key provided.", "")
            .advice
            .unwrap()
            .contains("api_key")
    );
    let quirk = |message: &str| class(400, message, "").quirks;
    assert_eq!(
        quirk("Encrypted content is not supported with this model."),
        quirks::NO_ENCRYPTED_REASONING
    );
    assert_eq!(quirk("'type' must be 'output_text'"), quirks::CONTENT_PARTS);
    assert_eq!(
        quirk("Unknown parameter (include)"),
        quirks::NO_ENCRYPTED_REASONING
    );
    assert_eq!(
        quirk("Previous response with id 'x' not found."),
        quirks::NO_STORED_RESPONSES
    );
    assert_eq!(
        quirk("The encrypted content could not be verified."),
        Quirks::default()
    );
}

#[test]
fn options_that_are_generated_or_run_here_are_rejected() {
    for name in [
        "input",
        "instructions",
        "tools",
        "previous_response_id",
        "conversation",
    ] {
        assert!(Options::new().extra(name, json!("x")).is_err(), "{name}");
    }
    let error = Options::new().extra("max_output_tokens", 5).unwrap_err();
    assert!(
        error.message().contains("ModelSettings::max_output_tokens"),
        "{error}"
    );
    assert!(Options::new().extra("store", "yes").is_err());
    assert!(
        Options::new()
            .provider_tool(json!({ "type": "web_search" }))
            .is_ok()
    );
    for kind in ["function", "custom", "local_shell", "computer_use_preview"] {
        assert!(
            Options::new()
                .provider_tool(json!({ "type": kind }))
                .is_err(),
            "{kind}"
        );
    }
}
