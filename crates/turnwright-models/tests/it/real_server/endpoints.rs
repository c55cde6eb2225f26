//! A forced call, a typed answer and a resumed turn over the three endpoints of the server: `/v1/chat/completions`,
//! `/v1/responses` and `/v1/messages`, streamed and complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use turnwright_core::middleware::tool_filter_in;
use turnwright_core::record::ToolResults;
use turnwright_core::runner::{AnswerFormat, TurnRunnerBuilder};
use turnwright_core::schema::Schema;
use turnwright_core::settings::ToolChoice;
use turnwright_core::{
    DispatchContext, Error, ErrorCode, ModelSettings, Next, Storage, Tool, TurnContext, TurnInput,
    TurnOutcome, TurnStatus,
};
use turnwright_models::http::{Client, Request, Response, Transport};
use turnwright_models::retry::RetryPolicy;
use turnwright_models::{AnyCodec, ModelBuilder, Protocol};

use super::{Server, server, weather};

const ENDPOINTS: [Protocol; 3] = [
    Protocol::ChatCompletions,
    Protocol::Responses,
    Protocol::Anthropic,
];

/// Each endpoint, streamed and complete.
fn modes() -> impl Iterator<Item = (Protocol, bool)> {
    ENDPOINTS
        .into_iter()
        .flat_map(|protocol| [(protocol, true), (protocol, false)])
}

impl Server {
    fn endpoint(&self, protocol: Protocol, options: Value) -> ModelBuilder<AnyCodec> {
        let settings = ModelSettings::new()
            .temperature(0.0)
            .max_output_tokens(200)
            .provider(protocol.name(), options);
        protocol
            .builder_at(&self.url)
            .api_key("none")
            .no_proxy()
            .explain_envelopes(false)
            .model("any")
            .settings(settings)
    }
}

/// Returns an agent that answers after its first calls. If a call is required, it comes in the first iteration.
fn agent(
    protocol: Protocol,
    model: ModelBuilder<AnyCodec>,
    requires_call: bool,
    asked: &Arc<AtomicUsize>,
) -> TurnRunnerBuilder {
    let choose = move |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        let settings = ModelSettings::new();
        let settings = match ctx.iteration() {
            1 if requires_call => settings.tool_choice(ToolChoice::Required),
            // It has no such parameter.
            _ if protocol == Protocol::Responses => settings,
            // A small model may never stop by itself.
            _ => settings.stop_sequences([".", "!", "?", "\n"]),
        };
        ctx.override_settings(settings)?;
        next.run().await
    };
    let runner = turnwright_core::runner(model.build().unwrap())
        .tool(weather(asked))
        .dispatch_input(choose);
    if protocol != Protocol::Anthropic {
        return runner.settings(ModelSettings::new().tool_choice(ToolChoice::None));
    }
    // This server takes no `tool_choice` of the type `none` for messages, and calls again.
    let before_calls = |ctx: &TurnContext, _: &Tool| ctx.records().own_tool_calls().is_empty();
    runner.dispatch_input(tool_filter_in(before_calls).hide_only())
}

/// Asserts that the turn has calls, all of which ran once and have a result.
fn assert_calls_ran(outcome: &TurnOutcome, asked: &AtomicUsize, name: &str) {
    let calls: Vec<_> = outcome.tool_calls().collect();
    assert!(!calls.is_empty(), "{name}");
    assert_eq!(asked.load(Ordering::SeqCst), calls.len(), "{name}");
    for call in calls {
        assert_eq!(call.tool(), "weather", "{name}");
        assert!(matches!(call.results(), ToolResults::Artifacts(_)));
        assert!(call.is_complete() && !call.is_error(), "{name}");
        assert!(call.provider_id().is_some(), "{name}");
        let args = call.args().to_value();
        let unit = args["unit"].as_str();
        assert!(
            matches!(unit, Some("celsius" | "fahrenheit")),
            "{name}: {args}"
        );
    }
}

/// Prints a line of the figures.
fn figures(what: &str, name: &str, outcome: &TurnOutcome) {
    let usage = outcome.usage;
    crate::say(format_args!(
        "{what}, {name}: {} requests, {} input and {} output tokens",
        usage.requests, usage.input_tokens, usage.output_tokens
    ));
}

#[tokio::test]
async fn required_tool_is_called_and_its_result_is_used() {
    let Some(server) = server("a tool call").await else {
        return;
    };
    for (protocol, stream) in modes() {
        let name = format!("{protocol}, stream {stream}");
        let asked = Arc::default();
        let model = server.endpoint(protocol, json!({ "stream": stream }));
        let runner = agent(protocol, model, true, &asked).build().unwrap();
        let outcome = runner.run("What is the weather in Paris?").await;
        assert!(outcome.is_answered(), "{name}: {}", outcome.status);
        assert_calls_ran(&outcome, &asked, &name);
        assert_eq!((outcome.iterations, outcome.usage.requests), (2, 2));
        assert!(outcome.usage.input_tokens > 0 && outcome.usage.output_tokens > 0);
        figures("a forced call", &name, &outcome);
    }
}

#[derive(Deserialize)]
struct City {
    name: String,
    districts: u8,
}

fn city() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": 20 },
            "districts": { "type": "integer", "minimum": 1, "maximum": 40 },
        },
        "required": ["name", "districts"],
        "additionalProperties": false,
    })
}

#[tokio::test]
async fn typed_answer_matches_its_schema() {
    let Some(server) = server("an answer of a form").await else {
        return;
    };
    for (protocol, stream) in modes() {
        let name = format!("{protocol}, stream {stream}");
        let mut options = json!({ "stream": stream });
        if protocol == Protocol::Responses {
            // This server ignores `text.format` and has its own parameter.
            options["json_schema"] = city();
        }
        let mut model = server.endpoint(protocol, options);
        if protocol == Protocol::Anthropic {
            model = model.settings(ModelSettings::new().stop_sequences([".", "\n"]));
        }
        let runner = turnwright_core::runner(model.build().unwrap());
        let format = AnswerFormat::new("City", Schema::from_document(city()).unwrap());
        let runner = runner.build().unwrap();
        let typed = runner
            .run(TurnInput::new("Describe the city of Paris.").answer_format(format))
            .await;
        figures("a typed answer", &name, &typed);
        if protocol == Protocol::Anthropic {
            // This server cannot restrict messages to a schema, and the model is too small to follow it.
            let error = typed.answer::<City>().map(drop).unwrap_err();
            assert_eq!(error.code(), ErrorCode::INVALID_ANSWER, "{name}: {error}");
            continue;
        }
        // The server received the schema, so no answer had to be repeated.
        assert_eq!(typed.iterations, 1, "{name}");
        let city = typed.answer::<City>().unwrap();
        assert!((1..=20).contains(&city.name.chars().count()), "{name}");
        assert!((1..=40).contains(&city.districts), "{name}");
    }
}

/// A transport whose connection breaks after the first request.
#[derive(Debug)]
struct Breaks {
    client: Client,
    sent: AtomicUsize,
}

#[async_trait]
impl Transport for Breaks {
    async fn send(&self, request: Request) -> Result<Response, Error> {
        match self.sent.fetch_add(1, Ordering::SeqCst) {
            0 => self.client.send(request).await,
            _ => Err(Error::new(ErrorCode::MODEL_UNREACHABLE, "the line is dead")),
        }
    }
}

#[tokio::test]
async fn turn_that_broke_after_its_call_is_resumed() {
    let Some(server) = server("a resumed turn").await else {
        return;
    };
    for (protocol, stream) in modes() {
        let name = format!("{protocol}, stream {stream}");
        let (asked, storage) = (Arc::default(), Storage::memory());
        let model = || server.endpoint(protocol, json!({ "stream": stream }));
        let breaks = Breaks {
            client: Client::builder().no_proxy().build().unwrap(),
            sent: AtomicUsize::new(0),
        };
        let first = model().transport(breaks).retry(RetryPolicy::never());
        let runner = agent(protocol, first, true, &asked).storage(storage.clone());
        let runner = runner.build().unwrap();
        let input = TurnInput::new("What is the weather in Paris?").conversation("c");
        let broken = runner.run(input).await;
        assert!(
            matches!(broken.status, TurnStatus::Failed(_)),
            "{name}: {}",
            broken.status
        );
        assert_calls_ran(&broken, &asked, &name);
        // Another runner, as in another process.
        let runner = agent(protocol, model(), false, &asked).storage(storage);
        let turn = runner.build().unwrap().resume(&*broken.turn_id).await;
        let outcome = turn.unwrap().await;
        assert!(outcome.is_answered(), "{name}: {}", outcome.status);
        assert_calls_ran(&outcome, &asked, &name);
        figures("a resumed turn", &name, &outcome);
    }
}
