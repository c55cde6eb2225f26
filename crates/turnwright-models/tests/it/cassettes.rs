//! Replay of a recorded conversation, in every protocol.

use std::sync::Arc;

use serde_json::{Value, json};
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::MemoryStore;
use turnwright_core::trust::ConversationSecret;
use turnwright_core::{ErrorCode, Storage, Tool, ToolContext, TurnInput, TurnOutcome};
use turnwright_models::Protocol;
use turnwright_models::http::{Client, Transport};
use turnwright_testkit::cassette::{Cassette, Exchange};
use turnwright_testkit::server::model::{self, Script};

async fn run(
    protocol: Protocol,
    transport: impl Transport + 'static,
    host: &str,
    question: &str,
) -> TurnOutcome {
    let weather = Tool::dynamic(
        "weather",
        json!({ "type": "object", "properties": { "city": { "type": "string" } } }),
    )
    .description("The weather.")
    .handler(|args: Value, _: ToolContext| async move { format!("rain in {}", args["city"]) });
    let path = match protocol {
        Protocol::Gemini => "/v1beta",
        Protocol::Ollama => "",
        _ => "/v1",
    };
    let model = protocol
        .builder_at(format!("{host}{path}"))
        .model("m")
        .api_key("sk-a-real-key-1234")
        .transport(transport)
        .build()
        .unwrap();
    // A new secret each time, as in another process.
    let secret = ConversationSecret::random().unwrap();
    let spool = Arc::new(MemorySpool::transient());
    let storage = Storage::new(MemoryStore::default(), spool, secret);
    let runner = turnwright_core::runner(model)
        .storage(storage.unwrap())
        .tool(weather.build())
        .build()
        .unwrap();
    // A name that no protocol has a field for is part of the text, in an envelope.
    let input = TurnInput::new(question).name("Ada, Countess");
    runner.run(input).await
}

#[tokio::test]
async fn recorded_turn_replays_without_server_and_keys() {
    for protocol in Protocol::ALL {
        record_and_replay(protocol).await;
    }
}

async fn record_and_replay(protocol: Protocol) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weather.json");
    let script = Script::new([
        model::calls([
            ("call_1", "weather", r#"{"city": "Bern"}"#),
            ("call_2", "weather", r#"{"city": "Rome"}"#),
        ]),
        model::text("It rains in both.", 5),
    ]);
    let server = script.serve().await.unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    let cassette = Cassette::record(&file, client).unwrap();
    let recorded = run(protocol, cassette.clone(), &server.url(), "How is it?").await;
    assert_eq!(
        recorded.text, "It rains in both.",
        "{protocol}: {:?}",
        recorded.status
    );
    // The last piece of a response is read in the background.
    let is_complete = |text: String| {
        let entries: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        entries.len() == 2
    };
    for _ in 0..6_000 {
        if std::fs::read_to_string(&file).is_ok_and(is_complete) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    cassette.save().unwrap();
    server.shutdown().await;

    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        !text.contains("sk-a-real-key") && !text.contains("truncated"),
        "{text}"
    );
    assert!(
        text.contains("rain in") && !text.contains("<tw-untrusted-"),
        "{text}"
    );
    assert!(
        text.contains("<tw-sender") && !text.contains("<tw-sender-"),
        "{text}"
    );
    let exchanges: Vec<Exchange> = serde_json::from_str(&text).unwrap();
    for exchange in &exchanges {
        let detected = Protocol::detect(&exchange.path, &exchange.body);
        assert_eq!(detected, Some(protocol));
    }

    let cassette = Cassette::replay(&file).unwrap();
    let host = "https://models.example";
    let played = run(protocol, cassette.clone(), host, "How is it?").await;
    assert_eq!(
        played.text, "It rains in both.",
        "{protocol}: {:?}",
        played.status
    );
    assert_eq!(played.tool_calls().count(), 2);
    cassette.assert_all_played();

    let cassette = Cassette::replay(&file).unwrap();
    let missed = run(protocol, cassette, host, "How was it?").await;
    let error = missed.status.error().unwrap();
    let error = error.to_string();
    assert!(
        error.contains(ErrorCode::INVALID_MODEL_CONFIG.as_str()),
        "{error}"
    );
    assert!(
        error.contains("of which number 0 is the closest") && error.contains("How was it?"),
        "{error}"
    );
}
