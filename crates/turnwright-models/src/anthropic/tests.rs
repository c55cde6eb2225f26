mod body;
mod messages;
mod thinking;

use serde_json::{Value, json};
use turnwright_core::schema::Schema;
use turnwright_core::{Error, ErrorCode, Tool, ToolContext};

use super::{Anthropic, AnthropicCodec};
use crate::ModelBuilder;
use crate::engine::tests::rejection;
use crate::engine::{Codec as _, ErrorBody};

fn from_env(text: &[(&str, &str)]) -> Result<Anthropic, Error> {
    let env = |name: &str| {
        let found = text.iter().find(|(item, _)| *item == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    ModelBuilder::<AnthropicCodec>::from_lookup(env).build()
}

#[test]
fn environment_sets_server_key_and_model() {
    let model = from_env(&[
        ("ANTHROPIC_API_KEY", "sk-ant-1"),
        ("ANTHROPIC_MODEL", "claude-opus-4-8"),
    ])
    .unwrap();
    let server = &model.engine().server;
    assert_eq!(
        server.endpoint.as_str(),
        "https://api.anthropic.com/v1/messages"
    );
    assert_eq!(model.engine().options.model_name(), Some("claude-opus-4-8"));
    let header = |name: &str| {
        server
            .headers
            .iter()
            .find(|(item, _)| item == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(
        (header("x-api-key"), header("anthropic-version")),
        (Some("sk-ant-1"), Some("2023-06-01"))
    );
    let error = from_env(&[]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG);
    assert!(error.message().contains("ANTHROPIC_API_KEY"), "{error}");
    let error = from_env(&[("ANTHROPIC_API_KEY", "sk-ant-1")]).unwrap_err();
    assert!(error.message().contains("ANTHROPIC_MODEL"), "{error}");
}

#[test]
fn base_url_may_have_the_version_or_the_endpoint() {
    let cases = [
        ("http://127.0.0.1:9", "/v1/messages"),
        ("http://127.0.0.1:9/", "/v1/messages"),
        ("http://127.0.0.1:9/v1", "/v1/messages"),
        ("http://127.0.0.1:9/v1/", "/v1/messages"),
        ("http://127.0.0.1:9/v1/messages", "/v1/messages"),
        ("http://127.0.0.1:9/anthropic", "/anthropic/v1/messages"),
    ];
    for (base, path) in cases {
        let model = from_env(&[("ANTHROPIC_BASE_URL", base), ("ANTHROPIC_MODEL", "m")]).unwrap();
        let endpoint = &model.engine().server.endpoint;
        assert_eq!(endpoint.path(), path, "{base}");
        let models = AnthropicCodec::default().models_url(endpoint);
        assert_eq!(models.path(), path.replace("messages", "models"));
    }
}

fn tool(schema: Value) -> Tool {
    Tool::dynamic("t", Schema::options().document(schema))
        .description("A tool.")
        .handler(|_: Value, _: ToolContext| async { "" })
        .build()
        .unwrap()
}

#[test]
fn schema_of_a_tool_is_sent_unchanged() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer", "minimum": 1 } }, "x-own": [1] });
    let codec = AnthropicCodec::default();
    let tool = tool(schema.clone());
    assert_eq!(
        codec.tool(&tool),
        json!({ "name": "t", "description": "A tool.", "input_schema": schema })
    );
    assert_eq!(codec.rejects_tool(&tool), None);
    let strict = AnthropicCodec { strict_tools: true };
    assert_eq!(strict.tool(&tool)["strict"], true);
    let why = rejection(&strict, [&tool]).unwrap();
    assert!(why.contains("strict mode"), "{why}");
}

#[test]
fn strict_mode_accepts_what_anthropic_documents() {
    let strict = AnthropicCodec { strict_tools: true };
    let of = |schema: Value| {
        let tool = tool(json!({
            "type": "object", "properties": { "a": schema }, "required": ["a"], "additionalProperties": false,
        }));
        rejection(&strict, [&tool])
    };
    for schema in [
        json!({ "type": "string", "format": "uri", "default": "a:b", "pattern": "^[a-z]:" }),
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        json!({ "allOf": [{ "type": "string" }, { "enum": ["a", null, 1, true] }] }),
    ] {
        assert_eq!(of(schema.clone()), None, "{schema}");
    }
    for (schema, expected) in [
        (
            json!({ "type": "string", "maxLength": 5 }),
            "/properties/a/maxLength",
        ),
        (
            json!({ "type": "integer", "minimum": 5 }),
            "/properties/a/minimum",
        ),
        (
            json!({ "type": "array", "minItems": 2 }),
            "/properties/a/minItems",
        ),
        (
            json!({ "type": "string", "pattern": r"\bword" }),
            "word boundaries",
        ),
        (json!({ "enum": [[1]] }), "/properties/a/enum"),
        (
            json!({ "allOf": [{ "$ref": "#" }] }),
            "/properties/a/allOf/0/$ref",
        ),
    ] {
        let why = of(schema).unwrap();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn strict_tools_share_the_limits_of_a_request() {
    let strict = AnthropicCodec { strict_tools: true };
    let with = |count: usize, schema: &Value, required: bool| {
        let names: Vec<String> = (0..count).map(|number| format!("p{number}")).collect();
        let properties: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), schema.clone()))
            .collect();
        let required = if required { names } else { Vec::new() };
        tool(json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }))
    };
    let (text, either) = (
        json!({ "type": "string" }),
        json!({ "type": ["string", "null"] }),
    );
    let six = with(6, &text, false);
    assert_eq!(rejection(&strict, vec![&six; 4]), None);
    let why = rejection(&strict, vec![&six; 5]).unwrap();
    assert!(why.contains("24 optional properties"), "{why}");
    let eight = with(8, &either, true);
    assert_eq!(rejection(&strict, vec![&eight; 2]), None);
    let why = rejection(&strict, vec![&eight; 3]).unwrap();
    assert!(why.contains("16 schemas with alternatives"), "{why}");
    let none = with(0, &text, true);
    assert_eq!(rejection(&strict, vec![&none; 20]), None);
    let why = rejection(&strict, vec![&none; 21]).unwrap();
    assert!(why.contains("20 tools"), "{why}");
    // Other tools do not count.
    let open = AnthropicCodec::default();
    assert_eq!(rejection(&open, vec![&six; 30]), None);
}

#[test]
fn alternatives_at_the_root_are_rejected_with_advice() {
    let object = json!({ "type": "object" });
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let mut schema = object.clone();
        schema[keyword] = json!([{ "required": ["a"] }, { "required": ["b"] }]);
        let tool = tool(schema);
        let why = AnthropicCodec::default().rejects_tool(&tool).unwrap();
        assert!(
            why.contains(&format!("`{keyword}` at the root")) && why.contains("field of an object"),
            "{why}"
        );
        let model = from_env(&[
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
            ("ANTHROPIC_MODEL", "m"),
        ])
        .unwrap();
        let error = turnwright_core::runner(model)
            .tool(tool)
            .build()
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TURN_RUNNER_CONFIG);
        assert!(
            error.message().contains("the tool `t`") && error.message().contains(keyword),
            "{error}"
        );
    }
}

#[test]
fn provider_tools_are_not_functions() {
    use super::Options;
    let search = json!({ "type": "web_search_20250305", "name": "web_search" });
    assert!(Options::new().provider_tool(search).is_ok());
    for function in [
        json!({ "name": "f", "input_schema": {} }),
        json!({ "type": "custom", "name": "f" }),
        json!({ "type": "new", "name": "f", "input_schema": {} }),
    ] {
        assert!(Options::new().provider_tool(function).is_err());
    }
    for reserved in [
        "messages",
        "system",
        "tools",
        "max_tokens",
        "temperature",
        "tool_choice",
    ] {
        assert!(
            Options::new().extra(reserved, json!(1)).is_err(),
            "{reserved}"
        );
    }
    assert!(Options::new().extra("top_k", json!("5")).is_err());
}

#[test]
fn error_responses_are_classified() {
    let error = |status, message| ErrorBody {
        status,
        message,
        names: "invalid_request_error",
    };
    let long = "prompt is too long: 210000 tokens > 200000 maximum";
    assert!(error(400, long).is_overflow());
    let long = "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000";
    assert!(error(400, long).is_overflow());
    let too_large = ErrorBody {
        names: "request_too_large",
        ..error(413, "Request exceeds the maximum size")
    };
    assert!(too_large.is_overflow());
    assert!(!error(400, "messages: at least one message is required").is_overflow());
    let advice = |error| AnthropicCodec::default().classify(&error).advice.unwrap();
    let credit = "Your credit balance is too low to access the Anthropic API.";
    assert!(advice(error(400, credit)).contains("credit"));
    assert!(advice(error(402, "Payment required")).contains("billing"));
}

#[test]
fn quirks_are_learned_from_errors() {
    use super::quirks::{
        ADAPTIVE_THINKING, BUDGETED_THINKING, NO_EFFORT, NO_SAMPLING, ONE_SAMPLING, from_error,
    };
    use crate::engine::Quirks;
    let cases = [
        ("`temperature` is deprecated for this model.", NO_SAMPLING),
        (
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
            ONE_SAMPLING,
        ),
        (
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
            ADAPTIVE_THINKING,
        ),
        (
            "adaptive thinking is not supported on this model",
            BUDGETED_THINKING,
        ),
        (
            "This model does not support the effort parameter.",
            NO_EFFORT,
        ),
        (
            "messages: at least one message is required",
            Quirks::default(),
        ),
    ];
    for (message, quirk) in cases {
        let error = |status| ErrorBody {
            status,
            message,
            names: "invalid_request_error",
        };
        assert_eq!(from_error(&error(400)), quirk, "{message}");
        assert_eq!(from_error(&error(500)), Quirks::default());
    }
}
