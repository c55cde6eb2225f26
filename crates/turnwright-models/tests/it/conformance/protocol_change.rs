//! A conversation that changes its protocol.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnwright_core::{Storage, Tool, ToolContext, TurnInput, TurnOutcome};
use turnwright_models::{AnyCodec, ModelBuilder, Protocol};
use turnwright_testkit::server::Server;
use turnwright_testkit::server::model::{self, Call, Reply, Script};

/// Returns a server that plays these replies and rejects requests that break a rule.
async fn strict(replies: impl IntoIterator<Item = Reply>) -> Server {
    let player = Script::new(replies).player().strict();
    player.serve().await.unwrap()
}

fn builder(protocol: Protocol, server: &Server) -> ModelBuilder<AnyCodec> {
    let builder = protocol.builder_at(crate::base_url(protocol, &server.url()));
    builder
        .model("scripted")
        .api_key("sk-1234567890")
        .no_proxy()
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

fn answered(protocol: Protocol, outcome: &TurnOutcome, text: &str) {
    assert_eq!(outcome.text, text, "{protocol}: {:?}", outcome.error());
}

fn weather(city: &str) -> Call {
    Call::new("weather", json!({ "city": city }))
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
    // State goes back to the server that issued it, whose port is in its strings.
    for (protocol, server) in &servers {
        let returned = |kind: &str| {
            let mark = format!("{kind}-{}-", server.address().port());
            let requests = server.requests();
            let has = |body: &[u8]| String::from_utf8_lossy(body).contains(&mark);
            requests.iter().any(|request| has(&request.body))
        };
        let expected = match protocol {
            Protocol::Anthropic => "sig",
            Protocol::Responses => "enc",
            Protocol::Gemini => "thought",
            _ => continue,
        };
        assert!(returned(expected), "{protocol} got no state back");
    }
    // It never reaches another one.
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
