use serde_json::{Value, json};
use turnwright_core::ModelSettings;
use turnwright_core::settings::{ReasoningEffort, ToolChoice};

use crate::engine::tests::sampling;
use crate::gemini::{GeminiCodec, Options};

type Draft = crate::engine::tests::Draft<GeminiCodec>;

fn config(draft: &Draft) -> Value {
    draft.body()["generationConfig"].clone()
}

#[test]
fn minimal_request_has_only_its_contents() {
    let contents = json!([{ "role": "user", "parts": [{ "text": "Hi" }] }]);
    assert_eq!(Draft::hi().body(), json!({ "contents": contents }));
}

#[test]
fn settings_and_options_are_sent_under_the_names_of_the_api() {
    let mut draft = Draft::hi();
    draft.settings = sampling();
    let safety = json!([{ "category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE" }]);
    let generation = json!({ "candidateCount": 1, "topK": 3, "seed": 1 });
    draft.options = Options::new()
        .top_k(40)
        .media_resolution("MEDIA_RESOLUTION_LOW")
        .safety_settings(safety.clone())
        .cached_content("cachedContents/1")
        .extra("labels", json!({ "team": "a" }))
        .unwrap()
        .extra("generationConfig", generation)
        .unwrap()
        .stream(false);
    let mut body = draft.body();
    body.as_object_mut().unwrap().remove("contents");
    // A setting takes precedence over an option, and an option over a nested one.
    let generation = json!({
        "temperature": 0.5, "topP": 0.9, "maxOutputTokens": 100, "stopSequences": ["x"], "seed": 7,
        "presencePenalty": 0.25, "frequencyPenalty": 0.75, "topK": 40, "candidateCount": 1,
        "mediaResolution": "MEDIA_RESOLUTION_LOW",
    });
    let expected = json!({
        "generationConfig": generation, "safetySettings": safety, "cachedContent": "cachedContents/1",
        "labels": { "team": "a" },
    });
    assert_eq!(body, expected);
}

#[test]
fn effort_is_a_level_or_a_budget() {
    let thinking = |model: &'static str, effort: ReasoningEffort| {
        let mut draft = Draft::hi();
        draft.model = model;
        draft.settings = ModelSettings::new().reasoning_effort(effort);
        config(&draft)["thinkingConfig"].clone()
    };
    let budget = |tokens: i64| json!({ "thinkingBudget": tokens, "includeThoughts": true });
    let level = |name: &str| json!({ "thinkingLevel": name, "includeThoughts": true });
    let old = "gemini-2.5-flash";
    assert_eq!(
        thinking(old, ReasoningEffort::None),
        json!({ "thinkingBudget": 0 })
    );
    assert_eq!(thinking(old, ReasoningEffort::Minimal), budget(512));
    assert_eq!(thinking(old, ReasoningEffort::Low), budget(1_024));
    assert_eq!(thinking(old, ReasoningEffort::Medium), budget(8_192));
    assert_eq!(thinking(old, ReasoningEffort::High), budget(-1));
    let new = "models/gemini-3-pro";
    assert_eq!(
        thinking(new, ReasoningEffort::None),
        json!({ "thinkingLevel": "minimal" })
    );
    assert_eq!(thinking(new, ReasoningEffort::Low), level("low"));
    assert_eq!(thinking(new, ReasoningEffort::High), level("high"));
    // An option takes precedence.
    let mut draft = Draft::hi();
    draft.settings = ModelSettings::new().reasoning_effort(ReasoningEffort::High);
    draft.options = Options::new().thinking_config(json!({ "thinkingBudget": 1 }));
    assert_eq!(
        config(&draft)["thinkingConfig"],
        json!({ "thinkingBudget": 1 })
    );
}

#[test]
fn functions_are_one_tool_and_those_of_the_provider_follow() {
    let (one, two) = (json!({ "name": "a" }), json!({ "name": "b" }));
    let search = json!({ "googleSearch": {} });
    let mut draft = Draft::hi();
    draft.tools = vec![one.to_string().into(), two.to_string().into()];
    let functions = json!({ "functionDeclarations": [one, two] });
    assert_eq!(draft.body()["tools"], json!([functions]));
    draft.options = Options::new().provider_tool(search.clone()).unwrap();
    assert_eq!(draft.body()["tools"], json!([functions, search]));
    draft.tools = Vec::new();
    assert_eq!(draft.body()["tools"], json!([search]));
}

#[test]
fn tool_choices_have_their_modes() {
    let mut draft = Draft::hi();
    draft.tools = vec!["{}".into()];
    for (choice, expected) in [
        (ToolChoice::Auto, json!({ "mode": "AUTO" })),
        (ToolChoice::None, json!({ "mode": "NONE" })),
        (ToolChoice::Required, json!({ "mode": "ANY" })),
        (
            ToolChoice::Tool("f".to_owned()),
            json!({ "mode": "ANY", "allowedFunctionNames": ["f"] }),
        ),
    ] {
        draft.settings = ModelSettings::new().tool_choice(choice);
        let expected = json!({ "functionCallingConfig": expected });
        assert_eq!(draft.body()["toolConfig"], expected);
    }
    // Without functions there is nothing to choose.
    draft.tools = Vec::new();
    assert_eq!(draft.body().get("toolConfig"), None);
}

#[test]
fn typed_answers_are_json_with_a_schema() {
    let mut draft = Draft::hi();
    let schema = json!({ "type": "object" });
    draft.answer = Some(("city", Some(schema.clone())));
    let expected = json!({ "responseMimeType": "application/json", "responseJsonSchema": schema });
    assert_eq!(config(&draft), expected);
    draft.answer = Some(("city", None));
    assert_eq!(
        config(&draft),
        json!({ "responseMimeType": "application/json" })
    );
    // An option takes precedence, and the server does not get two schemas.
    draft.answer = Some(("city", Some(schema)));
    let own =
        json!({ "responseMimeType": "application/json", "responseSchema": { "type": "OBJECT" } });
    draft.options = Options::new()
        .extra("generationConfig", own.clone())
        .unwrap();
    assert_eq!(config(&draft), own);
}
