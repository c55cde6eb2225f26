//! Tests against a real server with a very small model. They assert structure, not content.
//!
//! `scripts/llama-server.sh` starts a server and runs these tests. They use the server at `TURNWRIGHT_LLAMA_URL` (its
//! base URL, which ends in `/v1`), and skip with a notice if the variable is not set.

mod endpoints;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::MutexGuard;
use turnwright_core::{
    Error, ErrorCode, ErrorKind, EventKind, ModelSettings, Tool, ToolContext, Turn, TurnOutcome,
    TurnRunner,
};
use turnwright_models::ChatCompletions;
use turnwright_models::ModelBuilder;
use turnwright_models::chat_completions::{ChatCompletionsCodec, Options};
use turnwright_models::http::{Body, Client, Request, Response, Transport};

/// Serialises the tests: the server keeps few conversations, and each new one evicts another.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

struct Server {
    url: String,
    _turn: MutexGuard<'static, ()>,
}

/// Returns the server when it is this test's turn, or prints a notice.
async fn server(test: &str) -> Option<Server> {
    match std::env::var("TURNWRIGHT_LLAMA_URL") {
        Ok(url) if !url.is_empty() => Some(Server {
            url,
            _turn: TURN.lock().await,
        }),
        _ => {
            crate::say(format_args!(
                "SKIPPED: {test}: no server configured; run scripts/llama-server.sh, or set TURNWRIGHT_LLAMA_URL"
            ));
            None
        }
    }
}

impl Server {
    fn model(&self) -> ModelBuilder<ChatCompletionsCodec> {
        let settings = ModelSettings::new().temperature(0.0).seed(7);
        ChatCompletions::builder(&self.url)
            .no_proxy()
            .explain_envelopes(false)
            .model("any")
            .settings(settings.max_output_tokens(400))
    }

    /// Returns a model that stops after a sentence: a small model may never stop by itself.
    fn brief(&self) -> ModelBuilder<ChatCompletionsCodec> {
        self.model()
            .settings(ModelSettings::new().stop_sequences([".", "!", "?", "\n"]))
    }
}

fn runner(model: ModelBuilder<ChatCompletionsCodec>) -> TurnRunner {
    turnwright_core::runner(model.build().unwrap())
        .instructions("You are a helpful assistant.")
        .build()
        .unwrap()
}

/// Returns the text deltas and the outcome.
async fn watched(mut turn: Turn) -> (Vec<String>, TurnOutcome) {
    let mut pieces = Vec::new();
    while let Some(event) = turn.next().await {
        if let EventKind::MessageDelta(delta) = event.kind {
            pieces.push(delta.text.to_string());
        }
    }
    (pieces, turn.outcome().await)
}

/// Returns the error of the executor.
fn refusal(outcome: TurnOutcome) -> Error {
    outcome.into_answer().unwrap_err()
}

#[tokio::test]
async fn answer_is_streamed_with_usage() {
    let Some(server) = server("a streamed answer").await else {
        return;
    };
    let model = server
        .model()
        .settings(ModelSettings::new().stop_sequences(["?", "\n"]));
    let turn = runner(model).start("Say hello.");
    let (pieces, outcome) = watched(turn).await;
    assert!(outcome.is_answered(), "{}", outcome.status);
    assert!(pieces.len() > 1, "{pieces:?}");
    assert_eq!(pieces.concat(), outcome.text);
    assert!(outcome.usage.input_tokens > 0 && outcome.usage.output_tokens > 0);
    assert_eq!((outcome.usage.requests, outcome.iterations), (1, 1));
}

#[tokio::test]
async fn answer_without_streaming_is_one_piece() {
    let Some(server) = server("an answer in one piece").await else {
        return;
    };
    let model = server.brief().options(Options::new().stream(false));
    let (pieces, outcome) = watched(runner(model).start("Say hello.")).await;
    assert!(outcome.is_answered(), "{}", outcome.status);
    assert!(!outcome.text.trim().is_empty());
    assert_eq!(pieces, [outcome.text.as_str()]);
    assert!(outcome.usage.input_tokens > 0 && outcome.usage.output_tokens > 0);
}

#[tokio::test]
async fn truncated_answer_is_not_an_answer() {
    let Some(server) = server("an answer that is cut off").await else {
        return;
    };
    let model = server
        .model()
        .settings(ModelSettings::new().max_output_tokens(3));
    let outcome = runner(model).run("Tell me a long story.").await;
    let error = outcome.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::MODEL_RESPONSE_INCOMPLETE);
}

/// The tool that the model may call.
fn weather(asked: &Arc<AtomicUsize>) -> Tool {
    let asked = Arc::clone(asked);
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "minLength": 1, "maxLength": 20 },
            "unit": { "type": "string", "enum": ["celsius", "fahrenheit"] },
        },
        "required": ["city", "unit"],
        "additionalProperties": false,
    });
    Tool::dynamic("weather", schema)
        .description("Tells the weather in a city.")
        .handler(move |args: Value, _: ToolContext| {
            asked.fetch_add(1, Ordering::SeqCst);
            async move { format!("17 degrees in {}", args["city"].as_str().unwrap()) }
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn too_long_prompt_is_reported() {
    let Some(server) = server("a prompt that is too long").await else {
        return;
    };
    for stream in [true, false] {
        let model = server.model().options(Options::new().stream(stream));
        let error = refusal(runner(model).run("word ".repeat(50_000)).await);
        assert_eq!(error.code(), ErrorCode::CONTEXT_WINDOW_EXCEEDED, "{error}");
        assert!(error.message().contains("History::last(n)"), "{error}");
    }
}

#[tokio::test]
async fn wrong_address_error_has_advice() {
    let Some(server) = server("an address that is wrong").await else {
        return;
    };
    let wrong = Server {
        url: format!("{}/nowhere", server.url),
        ..server
    };
    let error = refusal(runner(wrong.model()).run("Hello").await);
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("is the base URL right"), "{error}");
}

#[tokio::test]
async fn prompt_cache_is_hit_by_the_next_request() {
    let Some(server) = server("the prompt cache").await else {
        return;
    };
    let heard = Heard::new();
    let long = "You are a helpful assistant. You answer in short sentences. ".repeat(20);
    let model = server.brief().transport(heard.clone());
    let runner = turnwright_core::runner(model.build().unwrap()).instructions(long);
    let runner = runner.build().unwrap();
    let mut chat = runner.conversation("cache");
    let mut usages = Vec::new();
    for content in ["Say hello.", "Say it again.", "And once more."] {
        let outcome = chat.say(content).await;
        assert!(outcome.is_answered(), "{}", outcome.status);
        usages.push(outcome.usage);
    }
    let reported = heard.cached();
    if reported.len() < usages.len() {
        crate::say("SKIPPED: the prompt cache: this server does not report cached tokens");
        return;
    }
    for (before, (now, reported)) in usages.iter().zip(usages.iter().zip(reported).skip(1)) {
        // The complete previous prompt, except for the end that the server's template adds.
        assert!(now.input_tokens > before.input_tokens);
        let most = before.input_tokens - 16;
        assert!(reported >= most, "{reported} of {}", before.input_tokens);
    }
}

/// A transport that records what the server reports about its cache.
#[derive(Clone)]
struct Heard {
    client: Client,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Heard {
    fn new() -> Self {
        Heard {
            client: Client::builder().no_proxy().build().unwrap(),
            bodies: Arc::default(),
        }
    }

    /// Returns the cached tokens of each prompt, if the server reports them. llama.cpp does so next to the usage, or
    /// in it.
    fn cached(&self) -> Vec<u64> {
        let bodies = self.bodies.lock();
        let content = |body: &String| {
            let chunks = body.lines().filter_map(|line| line.strip_prefix("data: "));
            let chunks = chunks.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
            let mut counts = chunks.filter_map(|chunk| {
                let in_usage = &chunk["usage"]["prompt_tokens_details"]["cached_tokens"];
                in_usage.as_u64().or(chunk["timings"]["cache_n"].as_u64())
            });
            counts.next_back()
        };
        bodies.iter().filter_map(content).collect()
    }
}

#[async_trait]
impl Transport for Heard {
    async fn send(&self, request: Request) -> Result<Response, Error> {
        let mut response = self.client.send(request).await?;
        let mut body = Vec::new();
        while let Some(piece) = response.body.next().await {
            body.extend_from_slice(&piece?);
        }
        let text = String::from_utf8_lossy(&body).into_owned();
        self.bodies.lock().push(text);
        response.body = Body::full(body);
        Ok(response)
    }
}

impl std::fmt::Debug for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Heard")
    }
}
