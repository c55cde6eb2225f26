mod body;
mod input;

use serde_json::{Value, json};
use turnwright_core::{Error, ErrorCode};

use super::{Options, Responses, ResponsesCodec, quirks};
use crate::ModelBuilder;
use crate::engine::tests::{rejection, tool};
use crate::engine::{Codec as _, ErrorBody, Quirks};

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
    assert_eq!(rejection(&codec, [&fits]), None);
    assert_eq!(codec.tool(&fits)["strict"], true);
    let open = tool(json!({ "type": "object", "properties": { "a": { "type": "string" } } }));
    assert_eq!(rejection(&ResponsesCodec::default(), [&open]), None);
    let why = rejection(&codec, [&open]).unwrap();
    assert!(
        why.contains("/additionalProperties") && why.contains("deny_unknown_fields"),
        "{why}"
    );
}

/// Returns why strict mode rejects a property with this schema.
fn strict_rejection(schema: &Value) -> Option<String> {
    let codec = ResponsesCodec {
        strict: true,
        ..ResponsesCodec::default()
    };
    let tool = tool(json!({
        "type": "object", "properties": { "a": schema }, "required": ["a"], "additionalProperties": false,
    }));
    rejection(&codec, [&tool])
}

#[test]
fn strict_mode_accepts_what_openai_documents() {
    let object = |schema: Value| {
        let mut object =
            json!({ "type": "object", "required": ["x"], "additionalProperties": false });
        object["properties"] = json!({ "x": schema });
        object
    };
    let accepted = [
        json!({ "type": "string", "description": "A name", "pattern": r"^a\b" }),
        json!({ "type": ["string", "null"], "format": "date-time" }),
        json!({ "type": "integer", "minimum": 0, "maximum": 9, "multipleOf": 3 }),
        json!({ "type": "array", "items": { "$ref": "#" }, "minItems": 2, "maxItems": 3 }),
        json!({ "anyOf": [{ "type": "string" }, object(json!({ "const": 1 }))] }),
        json!({ "enum": ["low", "high"] }),
        // Nine levels, below the root.
        (0..9).fold(json!({ "type": "string" }), |inner, _| object(inner)),
    ];
    for schema in accepted {
        assert_eq!(strict_rejection(&schema), None, "{schema}");
    }
    let many: Vec<String> = (0..1_001).map(|number| number.to_string()).collect();
    let long: Vec<String> = (0..251).map(|number| format!("{number:060}")).collect();
    let rejected = [
        (
            json!({ "oneOf": [{ "type": "string" }] }),
            "/properties/a/oneOf",
        ),
        (
            json!({ "allOf": [{ "type": "string" }] }),
            "/properties/a/allOf",
        ),
        (
            json!({ "type": "string", "default": "x" }),
            "/properties/a/default",
        ),
        (
            json!({ "type": "string", "minLength": 1 }),
            "/properties/a/minLength",
        ),
        (
            json!({ "type": "string", "format": "uri" }),
            "/properties/a/format",
        ),
        (
            json!({ "type": "array", "items": { "not": {} } }),
            "/properties/a/items/not",
        ),
        (json!({ "enum": many }), "1000 enum values"),
        (json!({ "enum": long }), "15000 characters"),
        (json!({ "const": "x".repeat(120_001) }), "120000 characters"),
        (
            (0..10).fold(json!({ "type": "string" }), |inner, _| object(inner)),
            "nested 10 levels",
        ),
    ];
    for (schema, expected) in rejected {
        let why = strict_rejection(&schema).unwrap();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn errors_are_classified() {
    fn error<'a>(status: u16, message: &'a str, names: &'a str) -> ErrorBody<'a> {
        ErrorBody {
            status,
            message,
            names,
        }
    }
    let class = |status: u16, message: &str, names: &str| {
        ResponsesCodec::default().classify(&error(status, message, names))
    };
    assert!(error(400, "Too long.", "context_length_exceeded").is_overflow());
    assert!(error(400, "This model's maximum prompt length is 5.", "").is_overflow());
    assert!(!error(500, "Too long.", "context_length_exceeded").is_overflow());
    assert!(error(429, "Pay.", "insufficient_quota").is_quota());
    assert!(!error(429, "Slow down.", "rate_limit_exceeded").is_quota());
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
