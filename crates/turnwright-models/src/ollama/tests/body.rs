use serde_json::json;
use turnwright_core::ModelSettings;
use turnwright_core::settings::{ReasoningEffort, ToolChoice};

use crate::engine::tests::sampling;
use crate::ollama::{OllamaCodec, Options};

type Draft = crate::engine::tests::Draft<OllamaCodec>;

#[test]
fn streaming_is_always_stated() {
    let mut draft = Draft::hi();
    let messages = json!([{ "role": "user", "content": "Hi" }]);
    let expected = json!({ "model": "m", "stream": false, "messages": messages });
    assert_eq!(draft.body(), expected);
    draft.streams = true;
    draft.options = Options::new().stream(false);
    assert_eq!(draft.body()["stream"], true);
}

#[test]
fn settings_are_options_of_the_model() {
    let mut draft = Draft::hi();
    draft.settings = sampling();
    draft.options = Options::new()
        .num_ctx(8_192)
        .keep_alive("10m")
        .extra("mirostat", 1)
        .unwrap()
        .extra("truncate", false)
        .unwrap()
        .extra("options", json!({ "num_gpu": 2, "mirostat": 0, "seed": 1 }))
        .unwrap();
    let mut body = draft.body();
    body.as_object_mut().unwrap().remove("messages");
    // A setting takes precedence over an option, and an option over a nested one.
    let options = json!({
        "temperature": 0.5, "top_p": 0.9, "num_predict": 100, "stop": ["x"], "seed": 7,
        "presence_penalty": 0.25, "frequency_penalty": 0.75, "num_ctx": 8_192, "mirostat": 1, "num_gpu": 2,
    });
    let expected = json!({
        "model": "m", "stream": false, "keep_alive": "10m", "truncate": false, "options": options,
    });
    assert_eq!(body, expected);
}

#[test]
fn effort_is_a_level_only_for_models_that_have_them() {
    let think = |model: &'static str, effort: ReasoningEffort| {
        let mut draft = Draft::hi();
        draft.model = model;
        draft.settings = ModelSettings::new().reasoning_effort(effort);
        draft.body()["think"].clone()
    };
    assert_eq!(think("qwen3:4b", ReasoningEffort::None), false);
    assert_eq!(think("qwen3:4b", ReasoningEffort::High), true);
    assert_eq!(think("gpt-oss:20b", ReasoningEffort::None), false);
    assert_eq!(think("gpt-oss:20b", ReasoningEffort::Minimal), "low");
    assert_eq!(think("gpt-oss:20b", ReasoningEffort::Medium), "medium");
    assert_eq!(think("gpt-oss:20b", ReasoningEffort::High), "high");
    // An option takes precedence.
    let mut draft = Draft::hi();
    draft.settings = ModelSettings::new().reasoning_effort(ReasoningEffort::High);
    draft.options = Options::new().extra("think", false).unwrap();
    assert_eq!(draft.body()["think"], false);
    assert_eq!(Draft::hi().body().get("think"), None);
}

#[test]
fn tool_choices_that_cannot_be_expressed_have_a_warning() {
    let mut draft = Draft::hi();
    draft.tools = vec![r#"{"type":"function"}"#.into()];
    let all = json!([{ "type": "function" }]);
    let mut with = |choice: ToolChoice| {
        draft.settings = ModelSettings::new().tool_choice(choice);
        let (body, warning) = draft.encoded();
        (body["tools"].clone(), warning.is_some())
    };
    assert_eq!(with(ToolChoice::Auto), (all.clone(), false));
    assert_eq!(with(ToolChoice::None), (json!(null), false));
    assert_eq!(with(ToolChoice::Required), (all.clone(), true));
    assert_eq!(with(ToolChoice::Tool("f".to_owned())), (all, true));
    draft.tools = Vec::new();
    assert_eq!(draft.encoded().1, None);
}

#[test]
fn typed_answers_are_a_format() {
    let mut draft = Draft::hi();
    let schema = json!({ "type": "object" });
    draft.answer = Some(("city", Some(schema.clone())));
    assert_eq!(draft.body()["format"], schema);
    draft.answer = Some(("city", None));
    assert_eq!(draft.body()["format"], "json");
}
