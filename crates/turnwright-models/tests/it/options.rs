//! Options at three levels, and the resulting request.

use serde_json::{Value, json};
use turnwright_core::settings::{ReasoningEffort, ToolChoice};
use turnwright_core::{ErrorCode, ModelSettings, Tool, ToolContext, TurnInput};
use turnwright_models::ChatCompletions;
use turnwright_models::chat_completions::{Options, PROTOCOL, SystemRole};

use crate::script::{Answer, Script, calls, says};

async fn sent(script: &Script, model: ChatCompletions, input: TurnInput) -> Value {
    let runner = turnwright_core::runner(model).build().unwrap();
    runner.run(input).await.into_answer().unwrap();
    script.values().pop().unwrap()
}

/// Returns the request of a turn with these runner settings.
async fn sent_under(
    script: &Script,
    model: ChatCompletions,
    of_runner: ModelSettings,
    input: TurnInput,
) -> Value {
    let runner = turnwright_core::runner(model).settings(of_runner);
    let outcome = runner.build().unwrap().run(input).await;
    outcome.into_answer().unwrap();
    script.values().pop().unwrap()
}

#[tokio::test]
async fn turn_overrides_runner_overrides_model() {
    let script = Script::new([says("Yes.")]);
    let options = |level: u64, names: &[&str]| {
        let fields = names.iter().map(|name| ((*name).to_owned(), json!(level)));
        Value::Object(fields.collect())
    };
    let model = script
        .builder()
        .settings(ModelSettings::new().temperature(0.1).top_p(0.1).seed(1))
        .options(Options::new().model("first").extra("a", 0).unwrap())
        .build()
        .unwrap()
        .with_settings(ModelSettings::new().provider(PROTOCOL, options(1, &["a", "b", "c"])))
        .unwrap();
    let of_runner = ModelSettings::new()
        .top_p(0.2)
        .seed(2)
        .provider(PROTOCOL, options(2, &["b", "c"]));
    let input = TurnInput::new("Hello").settings(
        ModelSettings::new()
            .seed(3)
            .provider(
                PROTOCOL,
                Options::new().model("other").extra("c", 3).unwrap(),
            )
            .provider("another protocol", json!({ "c": 4 })),
    );
    let body = sent_under(&script, model, of_runner, input).await;
    let of = |name: &str| body[name].clone();
    assert_eq!(of("temperature"), json!(0.1));
    assert_eq!(of("top_p"), json!(0.2));
    assert_eq!((of("seed"), of("model")), (json!(3), json!("other")));
    assert_eq!((of("a"), of("b"), of("c")), (json!(1), json!(2), json!(3)));
}

#[tokio::test]
async fn every_setting_is_sent() {
    let script = Script::new([says("Yes.")]);
    let settings = ModelSettings::new()
        .temperature(0.5)
        .top_p(0.25)
        .max_output_tokens(6)
        .stop_sequences(["a", "b"])
        .seed(-7)
        .presence_penalty(0.5)
        .frequency_penalty(-0.5)
        .reasoning_effort(ReasoningEffort::Low)
        .parallel_tool_calls(false)
        .tool_choice(ToolChoice::Tool("look".to_owned()));
    let look = Tool::dynamic("look", json!({ "type": "object" }))
        .description("Looks.")
        .handler(|_: Value, _: ToolContext| async { "" })
        .build();
    let input = TurnInput::new("Hello").tool(look);
    let body = sent_under(&script, script.model(), settings, input).await;
    let expected = json!({
        "temperature": 0.5, "top_p": 0.25, "max_tokens": 6, "stop": ["a", "b"], "seed": -7, "presence_penalty": 0.5,
        "frequency_penalty": -0.5, "reasoning_effort": "low", "parallel_tool_calls": false,
        "tool_choice": { "type": "function", "function": { "name": "look" } },
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&body[name], value, "{name}");
    }
}

#[tokio::test]
async fn forced_tool_call_applies_to_the_first_request_only() {
    for of_model in [true, false] {
        let script = Script::new([calls([("look", json!({}))]), says("Done.")]);
        let forced = ModelSettings::new().tool_choice(ToolChoice::Required);
        let look = Tool::dynamic("look", json!({ "type": "object" }))
            .description("Looks.")
            .handler(|_: Value, _: ToolContext| async { "seen" })
            .build();
        let (model, runner) = if of_model {
            (script.builder().settings(forced), ModelSettings::new())
        } else {
            (script.builder(), forced)
        };
        let input = TurnInput::new("Hello").tool(look);
        sent_under(&script, model.build().unwrap(), runner, input).await;
        let choices: Vec<Value> = script
            .values()
            .iter()
            .map(|body| body["tool_choice"].clone())
            .collect();
        assert_eq!(choices, ["required", "auto"]);
    }
}

#[tokio::test]
async fn invalid_options_are_rejected_and_nothing_is_sent() {
    let cases = [
        (json!({ "messages": [] }), "`messages` is generated from"),
        (json!({ "tools": [] }), "`tools` is generated from"),
        (json!({ "seed": 1 }), "`ModelSettings::seed`"),
        (
            json!({ "max_tokens": 1 }),
            "`ModelSettings::max_output_tokens`",
        ),
        (json!({ "stream": "yes" }), "`stream` must be a boolean"),
        (json!({ "model": 5 }), "`model` must be a string"),
        (
            json!({ "provider_tools": [{ "type": "function" }] }),
            "a function is not",
        ),
    ];
    for (options, words) in cases {
        let script = Script::new([says("Never.")]);
        let settings = || ModelSettings::new().provider(PROTOCOL, options.clone());
        let runner = turnwright_core::runner(script.model()).build().unwrap();
        let outcome = runner
            .run(TurnInput::new("Hello").settings(settings()))
            .await;
        let error = outcome.error().unwrap().with_causes();
        assert!(error.contains(words), "{options}: {error}");
        assert!(script.bodies().is_empty(), "nothing is sent");
        // A model with these options cannot be built.
        let error = script.builder().settings(settings()).build().unwrap_err();
        assert!(error.message().contains(words), "{options}: {error}");
        assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG);
    }
}

#[test]
fn values_of_options_are_not_shown() {
    let options = Options::new().extra("audio", json!({ "voice": "alloy" }));
    let options = options.unwrap();
    let shown = format!("{options:?}");
    assert!(
        shown.contains("audio") && !shown.contains("alloy"),
        "{shown}"
    );
}

#[tokio::test]
async fn minimal_request_has_no_extra_fields() {
    let script = Script::new([says("Yes.")]);
    let settings = ModelSettings::new().tool_choice(ToolChoice::Required);
    let model = script
        .builder()
        .explain_envelopes(false)
        .settings(settings.parallel_tool_calls(true))
        .build()
        .unwrap();
    let body = sent(&script, model, TurnInput::new("Hello")).await;
    assert_eq!(
        body,
        json!({
            "model": "test-model",
            "stream": true,
            "stream_options": { "include_usage": true },
            "messages": [{ "role": "user", "content": "Hello" }],
        }),
        "parameters for tools are not sent without tools"
    );
}

#[tokio::test]
async fn instructions_are_first_in_no_envelope_and_extended_by_the_turn() {
    let script = Script::new([says("Yes."), says("Yes.")]);
    let model = script.builder().explain_envelopes(false).build().unwrap();
    let runner = turnwright_core::runner(model)
        .instructions("Be brief.")
        .build()
        .unwrap();
    runner.run("Hello").await.into_answer().unwrap();
    let input = TurnInput::new("Hello").instructions("The user is Ada.");
    runner.run(input).await.into_answer().unwrap();
    let systems: Vec<Value> = script
        .values()
        .iter()
        .map(|body| body["messages"][0].clone())
        .collect();
    let system = |text: &str| json!({ "role": "system", "content": text });
    assert_eq!(
        systems,
        [system("Be brief."), system("Be brief.\n\nThe user is Ada.")]
    );
}

#[tokio::test]
async fn max_completion_tokens_quirk_is_remembered() {
    let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let refusal = Answer::Status(400, vec![], json!({ "error": { "message": message } }));
    let script = Script::new([refusal, says("Yes."), says("Yes.")]);
    let model = script
        .builder()
        .settings(ModelSettings::new().max_output_tokens(5))
        .build();
    let runner = turnwright_core::runner(model.unwrap()).build().unwrap();
    for _ in 0..2 {
        runner.run("Hello").await.into_answer().unwrap();
    }
    let names = |body: &Value| {
        (
            body["max_tokens"].clone(),
            body["max_completion_tokens"].clone(),
        )
    };
    let sent: Vec<_> = script.values().iter().map(names).collect();
    let (old, new) = ((json!(5), Value::Null), (Value::Null, json!(5)));
    assert_eq!(sent, [old, new.clone(), new]);
}

#[tokio::test]
async fn answer_without_streaming_is_accepted() {
    let complete = Answer::Complete(
        json!({ "choices": [{ "message": { "content": "Yes." }, "finish_reason": "stop" }] }),
    );
    let script = Script::new([complete]);
    let model = script
        .builder()
        .options(Options::new().stream(false))
        .build()
        .unwrap();
    let body = sent(&script, model, TurnInput::new("Hello")).await;
    assert!(body.get("stream").is_none() && body.get("stream_options").is_none());
}

#[tokio::test]
async fn system_prompt_can_use_the_developer_role() {
    let script = Script::new([says("Yes.")]);
    let model = script
        .builder()
        .explain_envelopes(false)
        .system_role(SystemRole::Developer);
    let input = TurnInput::new("Hello").instructions("Be brief.");
    let body = sent(&script, model.build().unwrap(), input).await;
    assert_eq!(
        body["messages"][0],
        json!({ "role": "developer", "content": "Be brief." })
    );
}

#[test]
fn invalid_addresses_are_rejected_with_advice() {
    for bad in [
        "",
        "localhost:8080",
        "ftp://host/v1",
        "http://",
        "not a url",
        "/v1",
    ] {
        let error = ChatCompletions::builder(bad)
            .model("m")
            .build()
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG, "{bad}");
        assert!(error.message().contains("https://host/v1"), "{error}");
    }
    let secret = ChatCompletions::builder("http://user:hunter22@[")
        .model("m")
        .build()
        .unwrap_err();
    assert!(!secret.to_string().contains("hunter22"));
}

#[test]
fn missing_model_error_has_advice() {
    let error = ChatCompletions::builder("http://127.0.0.1:9/v1")
        .build()
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG);
    assert!(
        error.message().contains("OPENAI_MODEL") && error.message().contains("`.model("),
        "{error}"
    );
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_not_sent() {
    let script = Script::new([says("Yes."), says("Yes.")]);
    let model = |window| {
        script
            .builder()
            .explain_envelopes(false)
            .context_window(window)
            .settings(ModelSettings::new().max_output_tokens(50))
            .build()
            .unwrap()
    };
    let words = "word ".repeat(400);
    let runner = |window| turnwright_core::runner(model(window)).build().unwrap();
    let error = runner(500)
        .run(words.as_str())
        .await
        .status
        .error()
        .unwrap();
    let error = error.to_string();
    assert!(
        error.contains("E_CONTEXT_WINDOW_EXCEEDED")
            && error.contains("500")
            && error.contains("History::last"),
        "{error}"
    );
    assert!(script.bodies().is_empty());
    runner(1_000)
        .run(words.as_str())
        .await
        .into_answer()
        .unwrap();
    // An image is not counted by its number of bytes.
    let image = turnwright_core::Media::user_attachment(
        turnwright_core::media::MediaKind::Image,
        "image/png",
        "p.png",
        turnwright_core::spool::MemoryReader::new(vec![7; 100_000]),
    );
    let input = TurnInput::new("Look.").media(image.build().unwrap());
    runner(1_500).run(input).await.into_answer().unwrap();
}

#[tokio::test]
async fn null_removes_a_parameter_of_a_lower_level() {
    let script = Script::new([says("Yes.")]);
    let options = Options::new().service_tier("flex").user("u");
    let model = script.builder().explain_envelopes(false).options(options);
    let of_runner = ModelSettings::new().provider(PROTOCOL, json!({ "verbosity": "low" }));
    let nulls = json!({ "service_tier": null, "stream_options": null, "verbosity": null });
    let input = TurnInput::new("Hello").settings(ModelSettings::new().provider(PROTOCOL, nulls));
    let body = sent_under(&script, model.build().unwrap(), of_runner, input).await;
    for name in ["service_tier", "stream_options", "verbosity"] {
        assert!(body.get(name).is_none(), "{name}: {body}");
    }
    assert_eq!(body["user"], "u");
}

#[tokio::test]
async fn known_context_window_is_enforced() {
    let script = Script::new([says("Never."), says("Yes.")]);
    let runner = |model: &str| {
        let model = script.builder().model(model).build().unwrap();
        turnwright_core::runner(model).build().unwrap()
    };
    let words = "word ".repeat(9_000);
    let error = runner("gpt-4")
        .run(words.as_str())
        .await
        .into_answer()
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::CONTEXT_WINDOW_EXCEEDED);
    assert!(error.message().contains("8192"), "{error}");
    assert!(script.bodies().is_empty());
    runner("a-model-that-nobody-knows")
        .run(words.as_str())
        .await
        .into_answer()
        .unwrap();
}
