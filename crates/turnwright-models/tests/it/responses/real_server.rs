//! Tests against a real server with a very small model. They assert structure, not content.
//!
//! `scripts/llama-server.sh` starts a server and runs these tests. They use the server at `TURNWRIGHT_LLAMA_URL` (its
//! base URL, which ends in `/v1`), and skip with a notice if the variable is not set.

use turnwright_core::record::Record;
use turnwright_core::{ErrorCode, Message, ModelSettings, Next, TurnContext};
use turnwright_models::responses::ResponsesCodec;
use turnwright_models::{ModelBuilder, Responses};

/// Returns a model of the server, or prints a notice.
fn model(test: &str) -> Option<ModelBuilder<ResponsesCodec>> {
    let url = std::env::var("TURNWRIGHT_LLAMA_URL").unwrap_or_default();
    if url.is_empty() {
        crate::say(format_args!(
            "SKIPPED: {test}: no server configured; run scripts/llama-server.sh, or set TURNWRIGHT_LLAMA_URL"
        ));
        return None;
    }
    let settings = ModelSettings::new().temperature(0.0).max_output_tokens(200);
    let model = Responses::builder(url).no_proxy().model("any");
    Some(model.explain_envelopes(false).settings(settings))
}

#[tokio::test]
async fn conversation_from_elsewhere_is_continued() {
    let Some(model) = model("a conversation from elsewhere") else {
        return;
    };
    let history = vec![
        Record::Message(Message::user("Say hello.").build().unwrap()),
        Record::Message(Message::assistant("Hello.").build().unwrap()),
    ];
    let hydrate = move |ctx: TurnContext, next: Next<TurnContext>| {
        ctx.records().hydrate(history.clone());
        async move { next.run().await }
    };
    let runner = turnwright_core::runner(model.build().unwrap())
        .turn_input(hydrate)
        .build()
        .unwrap();
    let outcome = runner.run("Again.").await;
    assert!(outcome.is_answered(), "{}", outcome.status);
}

#[tokio::test]
async fn prompt_that_is_too_long_is_explained() {
    let Some(model) = model("a prompt that is too long") else {
        return;
    };
    let runner = turnwright_core::runner(model.build().unwrap())
        .build()
        .unwrap();
    let error = runner
        .run("word ".repeat(20_000))
        .await
        .into_answer()
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::CONTEXT_WINDOW_EXCEEDED, "{error}");
}
