use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::{Error, ErrorCode, Executor as _};

use super::ChatCompletions;
use super::ChatCompletionsCodec;
use super::quirks::MAX_COMPLETION_TOKENS;
use crate::ModelBuilder;

fn from_env(text: &[(&str, &str)]) -> Result<ChatCompletions, Error> {
    let env = |name: &str| {
        let found = text.iter().find(|(item, _)| *item == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    ModelBuilder::<ChatCompletionsCodec>::from_lookup(env).build()
}

fn endpoint(base: &str) -> String {
    let model = ChatCompletions::builder(base).model("m").build().unwrap();
    model.engine().server.endpoint.to_string()
}

#[test]
fn environment_sets_server_key_and_model() {
    let model = from_env(&[
        ("OPENAI_BASE_URL", " http://127.0.0.1:8080/v1 "),
        ("OPENAI_MODEL", "qwen3"),
    ])
    .unwrap();
    assert_eq!(
        model.engine().server.endpoint.as_str(),
        "http://127.0.0.1:8080/v1/chat/completions"
    );
    assert_eq!(model.engine().options.model_name(), Some("qwen3"));
    let named = |model: &ChatCompletions, name: &str| {
        let mut headers = model.engine().server.headers.iter();
        headers
            .find(|(item, _)| item == name)
            .map(|(_, value)| value.clone())
    };
    assert_eq!(named(&model, "authorization"), None);

    let model = from_env(&[("OPENAI_API_KEY", "sk-123456"), ("OPENAI_MODEL", "gpt-4o")]).unwrap();
    assert_eq!(
        model.engine().server.endpoint.host_str(),
        Some("api.openai.com")
    );
    assert_eq!(
        named(&model, "authorization").as_deref(),
        Some("Bearer sk-123456")
    );
}

#[test]
fn missing_configuration_error_names_variable_and_method() {
    type Variables = [(&'static str, &'static str)];
    let cases: [(&Variables, &[&str]); 4] = [
        (&[], &["OPENAI_API_KEY", "`.api_key(", "OPENAI_BASE_URL"]),
        (&[("OPENAI_API_KEY", " ")], &["OPENAI_API_KEY"]),
        (
            &[("OPENAI_API_KEY", "sk-123456")],
            &["OPENAI_MODEL", "`.model("],
        ),
        (
            &[("OPENAI_BASE_URL", "localhost"), ("OPENAI_MODEL", "m")],
            &["https://host/v1"],
        ),
    ];
    for (text, words) in cases {
        let error = from_env(text).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG);
        for word in words {
            assert!(error.message().contains(word), "{word}: {error}");
        }
    }
}

#[test]
fn builder_takes_precedence_over_the_environment() {
    let full = |name: &str| {
        let value = match name {
            "OPENAI_API_KEY" => "sk-of-environment",
            "OPENAI_MODEL" => "of-environment",
            _ => return None,
        };
        Some(value.to_owned())
    };
    let builder = ModelBuilder::<ChatCompletionsCodec>::from_lookup(full);
    let model = builder
        .model("mine")
        .request_timeout(Duration::from_secs(7));
    let model = model.build().unwrap();
    assert_eq!(model.engine().options.model_name(), Some("mine"));
    assert_eq!(
        model.engine().server.settings.request_timeout,
        Duration::from_secs(7)
    );
    // The builder alone is enough.
    let empty = || ModelBuilder::<ChatCompletionsCodec>::from_lookup(|_| None).model("m");
    assert!(empty().build().is_err());
    assert!(empty().api_key("sk-123456").build().is_ok());
    assert!(empty().base_url("http://127.0.0.1:8080/v1").build().is_ok());
}

#[test]
fn provider_and_server_are_named_for_traces() {
    let at = |base: &str| ChatCompletions::builder(base).model("m");
    let openai = at("https://api.openai.com/v1").build().unwrap();
    assert_eq!(openai.name(), "openai");
    assert_eq!(openai.server(), Some(("api.openai.com", 443)));
    let local = at("http://127.0.0.1:8080/v1").build().unwrap();
    assert_eq!(local.name(), "127.0.0.1");
    assert_eq!(local.server(), Some(("127.0.0.1", 8080)));
    let named = at("http://127.0.0.1:8080/v1").name("vllm").build();
    assert_eq!(named.unwrap().name(), "vllm");
}

#[test]
fn token_limit_parameter_depends_on_the_server() {
    let name = |base: &str, wanted: Option<bool>| {
        let builder = ChatCompletions::builder(base).model("m");
        let builder = match wanted {
            Some(wanted) => builder.max_completion_tokens(wanted),
            None => builder,
        };
        builder
            .build()
            .unwrap()
            .engine()
            .server
            .quirks
            .lock()
            .has(MAX_COMPLETION_TOKENS)
    };
    assert!(name("https://api.openai.com/v1", None));
    assert!(name("https://me.openai.azure.com/openai/v1", None));
    assert!(!name("https://api.mistral.ai/v1", None));
    assert!(name("http://127.0.0.1:8080/v1", Some(true)));
    assert!(!name("https://api.openai.com/v1", Some(false)));
}

#[test]
fn resource_path_is_appended_if_missing() {
    let complete = "https://host/v1/chat/completions";
    for base in [
        "https://host/v1",
        "https://host/v1/",
        complete,
        "https://host/v1/chat/completions/#x",
    ] {
        assert_eq!(endpoint(base).trim_end_matches('/'), complete, "{base}");
    }
    assert_eq!(
        endpoint("https://host/openai/deployments/d?api-version=2024-10-21"),
        "https://host/openai/deployments/d/chat/completions?api-version=2024-10-21"
    );
    let azure = ChatCompletions::builder("https://host/openai")
        .query("api-version", "a b")
        .model("m")
        .build();
    let azure = azure.unwrap();
    assert_eq!(
        azure.engine().server.endpoint.query(),
        Some("api-version=a+b")
    );
    assert_eq!(
        azure.engine().server.address,
        "https://host/openai/chat/completions"
    );
    let password = ChatCompletions::builder("https://me:hunter22@host/v1")
        .model("m")
        .build()
        .unwrap();
    assert!(!format!("{password:?}").contains("hunter22"));
}

#[test]
fn reserved_options_are_rejected_when_set() {
    use super::Options;
    for name in ["messages", "tools", "functions", "temperature"] {
        let error = Options::new().extra(name, Value::Null).unwrap_err();
        assert!(error.message().contains(name), "{error}");
    }
    assert!(
        Options::new()
            .provider_tool(json!({ "type": "function" }))
            .is_err()
    );
    assert!(Options::new().provider_tool(json!("search")).is_err());
    assert!(
        Options::new()
            .provider_tool(json!({ "type": "browser_search" }))
            .is_ok()
    );
}
