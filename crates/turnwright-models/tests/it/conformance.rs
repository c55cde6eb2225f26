//! What every protocol must do, checked for all five against the testkit's strict server, which rejects requests that
//! break a rule of their protocol.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::spool::MemoryReader;
use turnwright_core::{
    Media, Message, ModelSettings, Storage, Tool, ToolContext, TurnInput, TurnOutcome, TurnRunner,
};
use turnwright_models::retry::RetryPolicy;
use turnwright_models::{AnyCodec, ModelBuilder, Protocol};
use turnwright_testkit::server::model::{self, Call, Reply, Script};
use turnwright_testkit::server::{Answer, Server};

const KEY: &str = "sk-conformance-1234567890";

/// Returns a server that plays these replies and rejects requests that break a rule.
async fn strict(replies: impl IntoIterator<Item = Reply>) -> Server {
    let player = Script::new(replies).player().strict();
    player.serve().await.unwrap()
}

fn base_url(protocol: Protocol, server: &Server) -> String {
    let path = match protocol {
        Protocol::Gemini => "/v1beta",
        Protocol::Ollama => "",
        _ => "/v1",
    };
    format!("{}{path}", server.url())
}

fn builder(protocol: Protocol, server: &Server) -> ModelBuilder<AnyCodec> {
    let builder = protocol.builder_at(base_url(protocol, server));
    builder.model("scripted").api_key(KEY)
}

/// A tool that records the arguments of its calls.
fn recording(name: &str) -> (Tool, Arc<Mutex<Vec<Value>>>) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&calls);
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let tool = Tool::dynamic(name, schema)
        .description("The weather.")
        .handler(move |args: Value, _: ToolContext| {
            let city = args["city"].as_str().unwrap_or("nowhere").to_owned();
            recorded.lock().unwrap().push(args);
            async move { format!("rain in {city}") }
        });
    (tool.build().unwrap(), calls)
}

fn runner(model: ModelBuilder<AnyCodec>, tool: Tool) -> TurnRunner {
    let model = model.build().unwrap();
    turnwright_core::runner(model)
        .instructions("Be brief.")
        .tool(tool)
        .build()
        .unwrap()
}

fn answered(protocol: Protocol, outcome: &TurnOutcome, text: &str) {
    assert_eq!(outcome.text, text, "{protocol}: {:?}", outcome.error());
}

fn weather(city: &str) -> Call {
    Call::new("weather", json!({ "city": city }))
}

#[tokio::test]
async fn streamed_and_complete_responses_give_the_same_answer() {
    for protocol in Protocol::ALL {
        for stream in [true, false] {
            let server = strict([model::text("It is 42.", 3).with_reasoning("Hm.")]).await;
            let settings =
                ModelSettings::new().provider(protocol.name(), json!({ "stream": stream }));
            let (tool, _) = recording("weather");
            let runner = runner(builder(protocol, &server).settings(settings), tool);
            let outcome = runner.run("What is it?").await;
            answered(protocol, &outcome, "It is 42.");
            let thoughts: Vec<_> = outcome
                .thoughts()
                .map(|item| item.text().to_owned())
                .collect();
            assert_eq!(thoughts, ["Hm."], "{protocol}");
        }
    }
}

#[tokio::test]
async fn calls_run_and_their_results_and_reasoning_return() {
    for protocol in Protocol::ALL {
        let thinks = |reply: Reply| reply.with_reasoning("I should look.");
        let server = strict([
            thinks(
                Reply::default()
                    .with_text("I look.")
                    .with_call(weather("Bern")),
            ),
            // Two calls at once, one of them without arguments.
            thinks(
                Reply::default()
                    .with_call(weather("Rome"))
                    .with_call(Call::new("weather", json!({}))),
            ),
            model::text("It rains.", 2),
            model::text("You are welcome.", 2),
        ])
        .await;
        let (tool, calls) = recording("weather");
        let model = builder(protocol, &server).build().unwrap();
        let runner = turnwright_core::runner(model)
            .tool(tool)
            .storage(Storage::memory());
        let runner = runner.build().unwrap();
        let ask = |text: &str| runner.run(TurnInput::new(text).conversation("c"));
        answered(protocol, &ask("How is it?").await, "It rains.");
        let cities = [
            json!({ "city": "Bern" }),
            json!({ "city": "Rome" }),
            json!({}),
        ];
        assert_eq!(*calls.lock().unwrap(), cities, "{protocol}");
        // The results are inside envelopes.
        let second = String::from_utf8(server.requests()[1].body.to_vec()).unwrap();
        assert!(
            second.contains("<tw-untrusted-") && second.contains("rain in Bern"),
            "{protocol}: {second}"
        );
        // A later turn sends all of it again, and the server accepts it.
        answered(protocol, &ask("Thanks.").await, "You are welcome.");
    }
}

#[tokio::test]
async fn each_prompt_starts_with_the_one_before() {
    for protocol in Protocol::ALL {
        let server = strict([
            Reply::default()
                .with_reasoning("Hm.")
                .with_call(weather("Bern")),
            model::text("It rains.", 2),
            model::text("Bye.", 2),
        ])
        .await;
        let (tool, _) = recording("weather");
        let model = builder(protocol, &server).build().unwrap();
        let runner = turnwright_core::runner(model)
            .tool(tool)
            .storage(Storage::memory());
        let runner = runner.build().unwrap();
        for text in ["How is it?", "Thanks."] {
            assert!(
                runner
                    .run(TurnInput::new(text).conversation("c"))
                    .await
                    .is_answered(),
                "{protocol}"
            );
        }
        let prompts = server
            .requests()
            .iter()
            .map(|request| prompt(&request.json().unwrap()))
            .collect::<Vec<_>>();
        for pair in prompts.windows(2) {
            assert!(
                pair[1].starts_with(&pair[0]),
                "{protocol}:\n{:#?}\n{:#?}",
                pair[0],
                pair[1]
            );
            assert!(pair[1].len() > pair[0].len(), "{protocol}");
        }
    }
}

/// The messages of a request, without marks for the prompt cache.
fn prompt(body: &Value) -> Vec<Value> {
    fn unmarked(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("cache_control");
                fields.values_mut().for_each(unmarked);
            }
            Value::Array(items) => items.iter_mut().for_each(unmarked),
            _ => {}
        }
    }
    let list = ["messages", "input", "contents"]
        .iter()
        .find_map(|name| body.get(*name)?.as_array());
    let mut messages = list.unwrap().clone();
    messages.iter_mut().for_each(unmarked);
    messages
}

#[tokio::test]
async fn calls_of_a_response_that_was_cut_off_never_run() {
    for protocol in Protocol::ALL {
        let cut = || Reply::default().with_call(weather("Bern")).finish("length");
        let server = strict([cut(), cut(), cut()]).await;
        let (tool, calls) = recording("weather");
        let outcome = runner(builder(protocol, &server), tool)
            .run("How is it?")
            .await;
        let error = outcome.error().unwrap();
        assert_eq!(
            error.code().as_str(),
            "E_MODEL_RESPONSE_INCOMPLETE",
            "{protocol}: {error}"
        );
        assert!(calls.lock().unwrap().is_empty(), "{protocol}");
    }
}

#[tokio::test]
async fn failed_attempts_are_retried_and_keys_never_shown() {
    for protocol in Protocol::ALL {
        let player = Script::new([model::text("Hello.", 2)]).player().strict();
        let asked = AtomicUsize::new(0);
        let server = Server::start(move |request| match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Answer::status(429).header("retry-after-ms", "1"),
            1 => Answer::status(503),
            2 => player.answer(request).answer,
            _ => Answer::json(
                401,
                json!({ "error": { "message": format!("wrong key {KEY}") } }),
            ),
        })
        .await
        .unwrap();
        let retry = RetryPolicy::new().first_wait(std::time::Duration::from_millis(1));
        let (tool, _) = recording("weather");
        let runner = runner(builder(protocol, &server).retry(retry), tool);
        answered(protocol, &runner.run("Hi").await, "Hello.");
        let outcome = runner.run("Hi").await;
        let error = outcome.error().unwrap().with_causes();
        assert!(
            error.contains("401") && !error.contains(KEY),
            "{protocol}: {error}"
        );
        assert!(!format!("{:?}", builder(protocol, &server).build().unwrap()).contains(KEY));
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Answer42 {
    number: u8,
}

#[tokio::test]
async fn typed_answers_are_validated() {
    for protocol in Protocol::ALL {
        let server = strict([
            model::text(r#"{"number": 420}"#, 2),
            model::text(r#"{"number": 42}"#, 2),
        ])
        .await;
        let (tool, _) = recording("weather");
        let runner = runner(builder(protocol, &server), tool);
        let answer = runner
            .run_typed::<Answer42>("What is it?")
            .await
            .into_answer();
        assert_eq!(answer.unwrap(), Answer42 { number: 42 }, "{protocol}");
    }
}

#[tokio::test]
async fn usage_is_normalised() {
    for protocol in Protocol::ALL {
        let reply = model::text("Hello.", 2)
            .usage(1_000, 50)
            .cached(900)
            .reasoning_tokens(20);
        let server = strict([reply]).await;
        let (tool, _) = recording("weather");
        let outcome = runner(builder(protocol, &server), tool).run("Hi").await;
        let usage = outcome.usage;
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (1_000, 50),
            "{protocol}"
        );
        // Ollama counts neither.
        if protocol != Protocol::Ollama {
            assert_eq!(usage.cached_input_tokens, 900, "{protocol}");
        }
    }
}

#[tokio::test]
async fn images_are_sent_and_names_of_users_are_kept_apart() {
    // The smallest PNG.
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    for protocol in Protocol::ALL {
        let server = strict([model::text("A pixel.", 2)]).await;
        let (tool, _) = recording("weather");
        let bytes = MemoryReader::new(png.to_vec());
        let image = Media::user_attachment(MediaKind::Image, "image/png", "dot.png", bytes);
        let image = image.build().unwrap();
        let message = Message::user("What is this?")
            .name("Zoë")
            .media(image)
            .build()
            .unwrap();
        let outcome = runner(builder(protocol, &server), tool)
            .run(TurnInput::from(message))
            .await;
        answered(protocol, &outcome, "A pixel.");
        let body = String::from_utf8(server.requests()[0].body.to_vec()).unwrap();
        assert!(body.contains("iVBORw0KGgo"), "{protocol}: {body}");
        assert!(
            body.contains("<tw-sender-") && body.contains("Zoë"),
            "{protocol}: {body}"
        );
    }
}

/// A conversation that changes its model, across all protocols and back, with reasoning and a call at each stage.
#[tokio::test]
async fn conversation_changes_its_model_and_every_request_is_valid() {
    let order = [
        Protocol::ChatCompletions,
        Protocol::Anthropic,
        Protocol::Gemini,
        Protocol::Responses,
        Protocol::Ollama,
        Protocol::Gemini,
        Protocol::Responses,
        Protocol::Anthropic,
        Protocol::ChatCompletions,
    ];
    let mut servers: Vec<(Protocol, Server)> = Vec::new();
    for protocol in Protocol::ALL {
        let stage = || {
            [
                Reply::default()
                    .with_reasoning("Hm.")
                    .with_text(format!("I look, says {protocol}."))
                    .with_call(weather("Bern")),
                model::text(format!("It rains, says {protocol}."), 2).with_reasoning("So it is."),
            ]
        };
        servers.push((protocol, strict([stage(), stage()].concat()).await));
    }
    let storage = Storage::memory();
    for protocol in order {
        let (_, server) = servers.iter().find(|(item, _)| *item == protocol).unwrap();
        let (tool, calls) = recording("weather");
        let model = builder(protocol, server).build().unwrap();
        let runner = turnwright_core::runner(model)
            .tool(tool)
            .storage(storage.clone());
        let runner = runner.build().unwrap();
        let outcome = runner
            .run(TurnInput::new("And now?").conversation("c"))
            .await;
        answered(protocol, &outcome, &format!("It rains, says {protocol}."));
        assert_eq!(calls.lock().unwrap().len(), 1, "{protocol}");
    }
    // State of one server never reaches another. Its strings have the port of the server that issued them.
    for (protocol, server) in &servers {
        for (other, issuer) in &servers {
            let port = issuer.address().port();
            for mark in ["sig", "enc", "thought"].map(|kind| format!("{kind}-{port}-")) {
                let leaks = server
                    .requests()
                    .iter()
                    .any(|request| String::from_utf8_lossy(&request.body).contains(&mark));
                assert!(
                    !leaks || protocol == other,
                    "state of {other} was sent to {protocol}"
                );
            }
        }
    }
}
