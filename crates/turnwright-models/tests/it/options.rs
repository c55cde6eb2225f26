//! Options at three levels, and what a request is made of.

use serde_json::{Value, json};
use turnwright_core::{ErrorCode, TurnInput, TurnRunner};
use turnwright_models::ChatCompletions;
use turnwright_models::chat_completions::{Options, STASH_KEY, SystemRole};

use crate::script::{Answer, Script, says};

async fn sent(script: &Script, model: ChatCompletions, input: TurnInput) -> Value {
    let runner = TurnRunner::builder(model).build().unwrap();
    runner.run(input).await.into_answer().unwrap();
    script.values().pop().unwrap()
}

#[tokio::test]
async fn the_stash_counts_over_the_executor_and_the_executor_over_the_adapter() {
    let script = Script::new([says("Yes.")]);
    let adapter = script
        .builder()
        .options(
            Options::new()
                .temperature(0.1)
                .top_p(0.1)
                .seed(1)
                .extra("a", 1)
                .unwrap()
                .extra("b", 1)
                .unwrap(),
        )
        .build()
        .unwrap();
    let executor = adapter.executor(Options::new().top_p(0.2).seed(2).extra("b", 2).unwrap());
    let input = TurnInput::new("Hello").stash(
        STASH_KEY,
        json!({ "seed": 3, "model": "other", "extra": { "c": 3 } }),
    );
    let body = sent(&script, executor, input).await;
    let of = |name: &str| body[name].clone();
    assert_eq!(of("temperature"), json!(0.1));
    assert_eq!(of("top_p"), json!(0.2));
    assert_eq!((of("seed"), of("model")), (json!(3), json!("other")));
    assert_eq!((of("a"), of("b"), of("c")), (json!(1), json!(2), json!(3)));
}

#[tokio::test]
async fn options_in_the_stash_that_cannot_be_read_say_what_is_wrong() {
    let cases = [
        (json!({ "temprature": 1 }), "temprature"),
        (json!({ "temperature": "hot" }), "temperature` cannot"),
        (json!({ "extra": { "messages": [] } }), "messages"),
        (json!({ "extra": { "tools": [] } }), "tools"),
        (json!({ "extra": { "seed": 1 } }), "seed"),
        (
            json!({ "provider_tools": [{ "type": "function" }] }),
            "function",
        ),
        (json!(5), "cannot be read"),
    ];
    for (expected, word) in cases {
        let script = Script::new([says("Never.")]);
        let runner = TurnRunner::builder(script.model()).build().unwrap();
        let outcome = runner
            .run(TurnInput::new("Hello").stash(STASH_KEY, expected.clone()))
            .await;
        let error = outcome.error().unwrap().with_causes();
        let word = word.trim_end_matches("` cannot");
        assert!(error.contains(word), "{expected}: {error}");
        assert!(script.bodies().is_empty(), "nothing is sent");
    }
}

#[test]
fn every_parameter_is_written_as_it_was_told() {
    let options: Options = serde_json::from_value(json!({
        "model": "m", "temperature": 0.5, "top_p": 0.5, "max_tokens": 5, "max_completion_tokens": 6, "n": 1,
        "stop": ["a", "b"], "seed": -7, "presence_penalty": 0.1, "frequency_penalty": 0.2, "logit_bias": { "50256": -100 },
        "logprobs": true, "top_logprobs": 2, "reasoning_effort": "low", "verbosity": "high", "tool_choice": "required",
        "parallel_tool_calls": false, "response_format": { "type": "text" }, "modalities": ["text"], "audio": { "voice": "alloy" },
        "prediction": { "type": "content" }, "web_search_options": {}, "service_tier": "flex", "store": true,
        "metadata": { "k": "v" }, "user": "u", "safety_identifier": "s", "prompt_cache_key": "k",
        "prompt_cache_retention": "24h", "stream": false, "stream_options": { "include_usage": false },
        "provider_tools": [{ "type": "browser_search" }], "extra": { "provider": { "order": ["x"] } },
    }))
    .unwrap();
    let again = serde_json::to_value(&options).unwrap();
    assert_eq!(serde_json::from_value::<Options>(again).unwrap(), options);
    let shown = format!("{options:?}");
    assert!(
        shown.contains("temperature") && !shown.contains("alloy"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_request_says_what_it_must_and_no_more() {
    let script = Script::new([says("Yes.")]);
    let model = script
        .builder()
        .explain_fences(false)
        .options(
            Options::new()
                .tool_choice("required")
                .parallel_tool_calls(true),
        )
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
        "what is only for tools is not sent without"
    );
}

#[tokio::test]
async fn without_a_stream_the_answer_comes_at_once() {
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
async fn the_system_prompt_may_be_a_developers() {
    let script = Script::new([says("Yes.")]);
    let model = script
        .builder()
        .system_prompt("Be brief.")
        .explain_fences(false)
        .system_role(SystemRole::Developer);
    let body = sent(&script, model.build().unwrap(), TurnInput::new("Hello")).await;
    assert_eq!(
        body["messages"][0],
        json!({ "role": "developer", "content": "Be brief." })
    );
}

#[test]
fn addresses_that_are_none_are_refused_with_what_to_write() {
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
        assert_eq!(error.code(), ErrorCode::InvalidModelConfig, "{bad}");
        assert!(error.message().contains("https://host/v1"), "{error}");
    }
    let secret = ChatCompletions::builder("http://user:hunter22@[")
        .build()
        .unwrap_err();
    assert!(!secret.to_string().contains("hunter22"));
}

#[tokio::test]
async fn no_model_is_an_error_that_says_what_to_do() {
    let script = Script::new([says("Never.")]);
    let model = ChatCompletions::builder("http://127.0.0.1:9/v1")
        .transport(script.clone())
        .build()
        .unwrap();
    let runner = TurnRunner::builder(model).build().unwrap();
    let error = runner
        .run("Hello")
        .await
        .ended
        .error()
        .unwrap()
        .with_causes();
    assert!(error.contains("OPENAI_MODEL"), "{error}");
    assert!(script.bodies().is_empty());
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_not_sent() {
    let script = Script::new([says("Yes."), says("Yes.")]);
    let model = |window| {
        script
            .builder()
            .explain_fences(false)
            .context_window(window)
            .options(Options::new().max_tokens(50))
            .build()
            .unwrap()
    };
    let words = "word ".repeat(400);
    let runner = |window| TurnRunner::builder(model(window)).build().unwrap();
    let error = runner(500).run(words.as_str()).await.ended.error().unwrap();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        cause.contains("E_CONTEXT_WINDOW_EXCEEDED")
            && cause.contains("500")
            && cause.contains("hydrate"),
        "{cause}"
    );
    assert!(script.bodies().is_empty());
    runner(1_000)
        .run(words.as_str())
        .await
        .into_answer()
        .unwrap();
    // An image is not counted by the length of its bytes.
    let image = turnwright_core::Media::user_attachment(
        turnwright_core::MediaKind::Image,
        "image/png",
        "p.png",
        turnwright_core::spool::MemoryReader::new(vec![7; 100_000]),
    );
    let input = TurnInput::new("Look.").media(image.build().unwrap());
    runner(1_500).run(input).await.into_answer().unwrap();
}

#[tokio::test]
async fn null_in_the_stash_takes_a_parameter_away() {
    let script = Script::new([says("Yes.")]);
    let model = script
        .builder()
        .explain_fences(false)
        .options(Options::new().stop("END"));
    let input = TurnInput::new("Hello").stash(
        STASH_KEY,
        json!({ "stop": null, "stream_options": null, "temperature": null }),
    );
    let body = sent(&script, model.build().unwrap(), input).await;
    assert!(
        body.get("stop").is_none() && body.get("stream_options").is_none(),
        "{body}"
    );
}

#[tokio::test]
async fn the_window_of_a_well_known_model_need_not_be_told() {
    let script = Script::new([says("Never."), says("Yes.")]);
    let runner = |model: &str| {
        let model = script.builder().model(model).build().unwrap();
        TurnRunner::builder(model).build().unwrap()
    };
    let words = "word ".repeat(9_000);
    let error = runner("gpt-4")
        .run(words.as_str())
        .await
        .into_answer()
        .unwrap_err();
    assert_eq!(error.cause().unwrap().code(), ErrorCode::ContextWindow);
    assert!(error.cause().unwrap().message().contains("8192"), "{error}");
    assert!(script.bodies().is_empty());
    runner("a-model-that-nobody-knows")
        .run(words.as_str())
        .await
        .into_answer()
        .unwrap();
}
