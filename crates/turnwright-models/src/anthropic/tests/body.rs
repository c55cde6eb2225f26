use std::sync::Arc;

use serde_json::{Value, json};
use turnwright_core::ModelSettings;
use turnwright_core::settings::ToolChoice;

use crate::anthropic::{Anthropic, AnthropicCodec, Options};
use crate::engine::{AnswerSchema, Codec as _, Quirks, RequestParts, Role, WireMessage};

/// A request to write.
pub(super) struct Request {
    pub(super) model: &'static str,
    pub(super) settings: ModelSettings,
    pub(super) options: Options,
    pub(super) tools: Vec<Arc<str>>,
    pub(super) messages: Vec<WireMessage>,
    pub(super) quirks: Quirks,
    pub(super) schema: Option<Value>,
}

pub(super) fn request() -> Request {
    Request {
        model: "claude-sonnet-4-5",
        settings: ModelSettings::new(),
        options: Options::new().prompt_caching(false),
        tools: Vec::new(),
        messages: vec![user("Hi.")],
        quirks: Quirks::default(),
        schema: None,
    }
}

pub(super) fn with(settings: ModelSettings) -> Request {
    Request {
        settings,
        ..request()
    }
}

impl Request {
    pub(super) fn on(mut self, model: &'static str) -> Self {
        self.model = model;
        self
    }

    pub(super) fn thinking(mut self, thinking: Value) -> Self {
        self.options = self.options.thinking(thinking);
        self
    }

    pub(super) fn tool(mut self) -> Self {
        self.tools
            .push(r#"{"name":"t","input_schema":{"type":"object"}}"#.into());
        self
    }

    /// Returns the body, and the warning.
    pub(super) fn write(self) -> (Value, String) {
        let model = Anthropic::builder("http://127.0.0.1:9")
            .model(self.model)
            .options(self.options);
        let model = model.build().unwrap();
        let messages: Vec<&WireMessage> = self.messages.iter().collect();
        let encoded = AnthropicCodec::default().body(&RequestParts {
            model: self.model,
            streams: false,
            settings: &self.settings,
            options: &model.engine().options,
            tools: &self.tools,
            functions: 0,
            answer: self.schema.as_ref().map(|schema| AnswerSchema {
                name: "answer",
                schema: Some(schema),
            }),
            messages: &messages,
            quirks: self.quirks,
        });
        let body = serde_json::from_str(&encoded.body).unwrap();
        (body, encoded.warning.unwrap_or_default())
    }

    pub(super) fn body(self) -> Value {
        let (body, warning) = self.write();
        assert_eq!(warning, "");
        body
    }
}

pub(super) fn user(text: &str) -> WireMessage {
    let content = json!([{ "type": "text", "text": text }]);
    WireMessage::new(Role::User, &json!({ "role": "user", "content": content }))
}

pub(super) fn assistant(blocks: &str, has_foreign_calls: bool) -> WireMessage {
    let json = format!(r#"{{"role":"assistant","content":[{blocks}]}}"#);
    let mut message = WireMessage::of_json(Role::Assistant, json);
    message.has_foreign_calls = has_foreign_calls;
    message
}

pub(super) fn results() -> WireMessage {
    let content = json!([{ "type": "tool_result", "tool_use_id": "a" }]);
    WireMessage::new(Role::Tool, &json!({ "role": "user", "content": content }))
}

pub(super) const THOUGHT: &str = r#"{"type":"thinking","thinking":"","signature":"c2ln"}"#;
pub(super) const CALL: &str = r#"{"type":"tool_use","id":"a","name":"t","input":{}}"#;

pub(super) fn effort(name: &str) -> ModelSettings {
    ModelSettings::new().reasoning_effort(name.to_owned().into())
}

#[test]
fn max_tokens_has_a_default_for_each_model() {
    let cases = [
        ("claude-3-haiku-20240307", 4_096),
        ("claude-3-5-haiku-latest", 8_192),
        ("claude-3-7-sonnet-latest", 32_000),
        ("claude-sonnet-4-5", 32_000),
        ("us.anthropic.claude-opus-4-8", 32_000),
        ("local-model", 8_192),
    ];
    for (model, tokens) in cases {
        assert_eq!(request().on(model).body()["max_tokens"], tokens, "{model}");
    }
    let settings = ModelSettings::new().max_output_tokens(100);
    assert_eq!(with(settings).body()["max_tokens"], 100);
}

#[test]
fn settings_and_options_have_the_names_of_the_api() {
    let settings = ModelSettings::new()
        .temperature(0.5)
        .top_p(0.9)
        .stop_sequences(["a", "b"]);
    let mut request = with(settings);
    request.options = request
        .options
        .top_k(5)
        .metadata(json!({ "user_id": "u" }))
        .service_tier("auto");
    let body = request.body();
    let expected = json!({
        "model": "claude-sonnet-4-5", "top_k": 5, "metadata": { "user_id": "u" }, "service_tier": "auto",
        "max_tokens": 32_000, "temperature": 0.5, "top_p": 0.9, "stop_sequences": ["a", "b"],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hi." }] }],
    });
    assert_eq!(body, expected);
    let settings = ModelSettings::new()
        .seed(1)
        .presence_penalty(0.1)
        .frequency_penalty(0.1);
    let (body, warning) = with(settings).write();
    assert_eq!(body.get("seed"), None);
    assert!(
        ["`seed`", "`presence_penalty`", "`frequency_penalty`"]
            .iter()
            .all(|name| warning.contains(name)),
        "{warning}"
    );
}

#[test]
fn tool_choice_is_mapped() {
    let choice = |choice: Option<ToolChoice>, parallel: Option<bool>| {
        let mut settings = ModelSettings::new();
        (settings.tool_choice, settings.parallel_tool_calls) = (choice, parallel);
        with(settings).tool().body()["tool_choice"].clone()
    };
    assert_eq!(choice(None, None), Value::Null);
    assert_eq!(choice(None, Some(true)), Value::Null);
    assert_eq!(
        choice(Some(ToolChoice::Auto), None),
        json!({ "type": "auto" })
    );
    assert_eq!(
        choice(Some(ToolChoice::Required), None),
        json!({ "type": "any" })
    );
    assert_eq!(
        choice(Some(ToolChoice::None), Some(false)),
        json!({ "type": "none" })
    );
    let serial = json!({ "type": "auto", "disable_parallel_tool_use": true });
    assert_eq!(choice(None, Some(false)), serial);
    let named = json!({ "type": "tool", "name": "t", "disable_parallel_tool_use": true });
    assert_eq!(
        choice(Some(ToolChoice::Tool("t".to_owned())), Some(false)),
        named
    );
    let settings = ModelSettings::new().tool_choice(ToolChoice::Required);
    assert_eq!(
        with(settings).body().get("tool_choice"),
        None,
        "without tools"
    );
}

#[test]
fn output_config_combines_options_effort_and_format() {
    let schema = json!({ "type": "object", "additionalProperties": false });
    let format = json!({ "type": "json_schema", "schema": schema });
    let body = Request {
        schema: Some(schema.clone()),
        ..with(effort("low")).on("claude-opus-4-8")
    }
    .body();
    assert_eq!(
        body["output_config"],
        json!({ "effort": "low", "format": format })
    );
    let mut own = Request {
        schema: Some(schema),
        ..with(effort("low")).on("claude-opus-4-8")
    };
    own.options = own
        .options
        .output_config(json!({ "effort": "max", "task_budget": 1 }));
    assert_eq!(
        own.body()["output_config"],
        json!({ "effort": "max", "task_budget": 1, "format": format })
    );
}

#[test]
fn ends_of_requests_the_system_prompt_and_tools_are_marked() {
    let system = WireMessage::new(Role::System, &json!({ "type": "text", "text": "S" }));
    let messages = vec![
        system,
        user("a"),
        assistant(CALL, false),
        results(),
        user("note"),
        assistant("{\"type\":\"text\",\"text\":\"b\"}", false),
        user("c"),
    ];
    let request = Request {
        messages,
        options: Options::new(),
        ..request()
    };
    let body = request.tool().body();
    let control = json!({ "type": "ephemeral" });
    assert_eq!(body["tools"][0]["cache_control"], control);
    assert_eq!(
        body["system"],
        json!([{ "type": "text", "text": "S", "cache_control": control }])
    );
    let marked: Vec<usize> = (0..6)
        .filter(|index| {
            body["messages"][index]["content"][0]
                .get("cache_control")
                .is_some()
        })
        .collect();
    assert_eq!(marked, [3, 5]);
    assert_eq!(
        body["messages"][5]["content"][0],
        json!({ "type": "text", "text": "c", "cache_control": control })
    );
}
