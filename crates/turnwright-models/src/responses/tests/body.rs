use serde_json::{Map, Value, json};
use turnwright_core::ModelSettings;
use turnwright_core::settings::{ReasoningEffort, ToolChoice};

use crate::engine::tests::{fields, user};
use crate::engine::{Assistant, Call, Item, Piece, Quirks};
use crate::responses::{Options, ResponsesCodec, SystemPrompt, quirks};

type Draft = crate::engine::tests::Draft<ResponsesCodec>;

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
    let mut draft = Draft::hi();
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
    let mut draft = Draft::hi();
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
    let mut draft = Draft::hi();
    assert_eq!(draft.encoded().1, None);
    draft.settings = ModelSettings::new().seed(1).stop_sequences(["x"]);
    let (body, warning) = draft.encoded();
    assert_eq!((body.get("seed"), body.get("stop")), (None, None));
    let warning = warning.unwrap();
    assert!(warning.ends_with("`stop_sequences`, `seed`"), "{warning}");
}

#[test]
fn encrypted_reasoning_is_requested_where_it_exists() {
    let mut draft = Draft::hi();
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
    let mut draft = Draft::hi();
    let schema = json!({ "type": "object" });
    draft.answer = Some(("city", Some(schema.clone())));
    let format =
        json!({ "type": "json_schema", "name": "city", "schema": schema, "strict": false });
    assert_eq!(draft.body()["text"], json!({ "format": format }));
    draft.answer = Some(("city", None));
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
