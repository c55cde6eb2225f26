mod body;
mod decode;
mod messages;

use serde_json::json;

use super::{OllamaCodec, Options, host_url};
use crate::ModelBuilder;
use crate::engine::tests::tool;
use crate::engine::{Codec as _, ErrorBody};

#[test]
fn host_is_completed_like_ollama_does() {
    let cases = [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("localhost", "http://localhost:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":9999", "http://127.0.0.1:9999"),
        ("[::1]:9999", "http://[::1]:9999"),
        ("[::]", "http://[::1]:11434"),
        (
            "https://models.example/ollama",
            "https://models.example/ollama",
        ),
        ("http://models.example:80/", "http://models.example:80/"),
    ];
    for (host, url) in cases {
        assert_eq!(host_url(host), url, "{host}");
    }
}

#[test]
fn environment_sets_server_and_model() {
    let env = |name: &str| match name {
        "OLLAMA_HOST" => Some(" 127.0.0.1:8080 ".to_owned()),
        "OLLAMA_MODEL" => Some("qwen3:4b".to_owned()),
        _ => None,
    };
    let model = ModelBuilder::<OllamaCodec>::from_lookup(env)
        .build()
        .unwrap();
    let server = &model.engine().server;
    assert_eq!(server.endpoint.as_str(), "http://127.0.0.1:8080/api/chat");
    assert_eq!(model.engine().options.model_name(), Some("qwen3:4b"));
    // A key is not needed.
    let missing = ModelBuilder::<OllamaCodec>::from_lookup(|_| None)
        .build()
        .unwrap_err();
    assert!(missing.message().contains("OLLAMA_MODEL"), "{missing}");
    for base in [
        "http://127.0.0.1:1",
        "http://127.0.0.1:1/v1",
        "http://127.0.0.1:1/api/",
    ] {
        let model = ModelBuilder::<OllamaCodec>::from_lookup(|_| None)
            .base_url(base)
            .model("m")
            .build();
        let endpoint = model.unwrap().engine().server.endpoint.to_string();
        assert_eq!(endpoint, "http://127.0.0.1:1/api/chat", "{base}");
    }
}

#[test]
fn options_reject_what_belongs_elsewhere() {
    for name in ["messages", "tools", "temperature", "num_predict"] {
        let error = Options::new().extra(name, 1).unwrap_err();
        assert!(error.message().contains(name), "{error}");
    }
    assert!(Options::new().extra("mirostat", 1).is_ok());
    assert!(Options::new().extra("num_ctx", "large").is_err());
    assert!(
        Options::new()
            .provider_tool(json!({ "type": "web_search" }))
            .is_err()
    );
}

#[test]
fn schema_of_a_tool_is_sent_unchanged() {
    let schema =
        json!({ "type": "object", "properties": { "n": { "type": "integer", "minimum": 1 } } });
    let sent = OllamaCodec::default().tool(&tool(schema.clone()));
    let function = json!({ "name": "f", "description": "Does it.", "parameters": schema });
    assert_eq!(sent, json!({ "type": "function", "function": function }));
}

#[test]
fn errors_have_advice() {
    let advice = |status: u16, message: &str| {
        let names = "";
        let error = ErrorBody {
            status,
            message,
            names,
        };
        OllamaCodec::default().classify(&error).advice
    };
    let pull = advice(404, "model \"qwen3:4b\" not found, try pulling it first").unwrap();
    assert!(pull.contains("`ollama pull qwen3:4b`"), "{pull}");
    let pull = advice(404, "model 'llama3' not found").unwrap();
    assert!(pull.contains("`ollama pull llama3`"), "{pull}");
    assert!(advice(404, "not found").unwrap().contains("`ollama pull`"));
    let tools = advice(400, "registry.ollama.ai/library/x does not support tools").unwrap();
    assert!(tools.contains("no tools"), "{tools}");
    let think = advice(400, "\"x\" does not support thinking").unwrap();
    assert!(think.contains("reasoning_effort"), "{think}");
    assert_eq!(advice(500, "model \"x\" not found"), None);
}
