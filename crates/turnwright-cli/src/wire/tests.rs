mod requests;

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use turnwright::models::Protocol;
use turnwright::record::Record;
use turnwright_testkit::cassette::Exchange;

use super::beginning::Beginning;
use super::decode::{decoded, line, name_of, protocol_of};
use super::request::RecordedRequest;
use super::tools::offered;
use super::turns::{RecordedResponse, RecordedTurn};

fn exchange(messages: &Value, response: &Value) -> Exchange {
    let request = json!({ "method": "POST", "path": "/v1/chat/completions", "body": { "messages": messages } });
    serde_json::from_value(json!({ "request": request, "response": response })).unwrap()
}

fn reply(message: &Value, reason: &str) -> Value {
    let choice = json!({ "message": message, "finish_reason": reason });
    json!({ "status": 200, "body": { "choices": [choice] } })
}

fn calls(id: &str) -> Value {
    let function = json!({ "name": "look", "arguments": "{}" });
    json!({ "role": "assistant", "tool_calls": [{ "id": id, "type": "function", "function": function }] })
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn answer(id: &str, text: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": text })
}

fn turns(exchanges: Vec<Exchange>) -> Vec<RecordedTurn> {
    let exchanges = exchanges.into_iter();
    super::turns::turns(exchanges.map(|exchange| (protocol_of(&exchange), exchange)))
}

/// The number of responses of each turn.
fn lengths(exchanges: Vec<Exchange>) -> Vec<usize> {
    let turns = turns(exchanges);
    turns.iter().map(|turn| turn.exchanges.len()).collect()
}

#[test]
fn a_recording_is_named_by_the_end_of_its_path() {
    let names = [
        ("/a/wire/chat_completions/openai/x.json", "openai/x.json"),
        ("openai/x.json", "openai/x.json"),
        ("./x.json", "x.json"),
        ("-", "-"),
        ("../../x.json", "x.json"),
    ];
    for (path, name) in names {
        assert_eq!(name_of(Path::new(path)), name);
    }
}

#[test]
fn a_decoded_line_names_its_file_first() {
    let decoded = decoded(
        None,
        Ok(&exchange(
            &json!([]),
            &reply(&json!({ "content": "Hi" }), "stop"),
        )),
    );
    let line = line("f", 3, decoded);
    let names: Vec<&str> = line
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "file",
        "index",
        "text",
        "reasoning",
        "refusal",
        "tool_calls",
        "finish_reason",
        "usage",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_request_with_the_results_of_the_calls_continues_the_turn() {
    let done = json!({ "role": "assistant", "content": "Done." });
    let first = json!([user("Go")]);
    let second = json!([user("Go"), calls("a"), answer("a", "seen")]);
    let third = json!([
        user("Go"),
        calls("a"),
        answer("a", "seen"),
        calls("b"),
        answer("b", "more")
    ]);
    let fourth = json!([user("Go"), done, user("Again")]);
    let session = || {
        vec![
            exchange(&first, &reply(&calls("a"), "tool_calls")),
            exchange(&second, &reply(&calls("b"), "tool_calls")),
            exchange(&third, &reply(&done, "stop")),
        ]
    };
    assert_eq!(lengths(session()), [3]);
    // The next message; another conversation; the same request again.
    let with = |more: Exchange| lengths(session().into_iter().chain([more]).collect());
    assert_eq!(with(exchange(&fourth, &reply(&done, "stop"))), [3, 1]);
    assert_eq!(
        with(exchange(&json!([user("Other")]), &reply(&done, "stop"))),
        [3, 1]
    );
    assert_eq!(with(exchange(&third, &reply(&done, "stop"))), [3, 1]);
    // A response that was cut off, or is an error, has no calls with results.
    let cut = exchange(&first, &reply(&calls("a"), "length"));
    let next = exchange(&second, &reply(&done, "stop"));
    assert_eq!(lengths(vec![cut, next.clone()]), [1, 1]);
    let refused = exchange(&first, &json!({ "status": 500 }));
    assert_eq!(lengths(vec![refused, next]), [1, 1]);
}

#[test]
fn an_incomplete_response_is_distinguished_from_a_reply() {
    let begun = json!("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n");
    let of = |response: Value| {
        RecordedResponse::of(Protocol::ChatCompletions, &exchange(&json!([]), &response))
    };
    let full = reply(&json!({ "content": "Hi" }), "stop");
    assert!(matches!(of(full), RecordedResponse::Reply(_)));
    assert!(matches!(
        of(json!({ "status": 302 })),
        RecordedResponse::Status(302)
    ));
    let broken = json!({ "status": 200, "body": begun, "truncated": true });
    assert!(matches!(of(broken), RecordedResponse::Broken));
    assert!(matches!(
        of(json!({ "status": 200, "body": "" , "truncated": true })),
        RecordedResponse::Broken
    ));
    assert!(matches!(
        of(json!({ "status": 200, "body": "?" })),
        RecordedResponse::Foreign
    ));
}

#[test]
fn a_turn_starts_with_earlier_messages_and_the_new_one() {
    let parts =
        json!([{ "type": "text", "text": "Look:" }, { "type": "image_url", "image_url": {} }]);
    let messages = [
        json!({ "role": "system", "content": "Be brief." }),
        json!({ "role": "developer", "content": "Be kind." }),
        user("One"),
        calls("a"),
        answer("a", "seen"),
        json!({ "role": "assistant", "content": "Two" }),
        json!({ "role": "user", "content": parts }),
    ];
    let read = |messages: &[Value]| {
        let exchange = exchange(&messages.into(), &json!({ "status": 200 }));
        RecordedRequest::of(Protocol::ChatCompletions, &exchange)
    };
    let request = read(&messages);
    assert_eq!(request.system, "Be brief.\n\nBe kind.");
    let beginning = Beginning::of(&request);
    assert_eq!(beginning.input.as_deref(), Some("Look:\n\n[image_url]"));
    let kinds: Vec<&str> = beginning
        .before
        .iter()
        .map(|record| match record {
            Record::Message(message) => message.text(),
            Record::ToolCall(call) => call.provider_id().unwrap(),
            _ => "?",
        })
        .collect();
    assert_eq!(kinds, ["One", "a", "Two"]);
    // After a result the model continues.
    let continues = Beginning::of(&read(&messages[..5]));
    assert_eq!((continues.input, continues.before.len()), (None, 2));
}

#[test]
fn tools_are_offered_as_recorded_or_noted() {
    let function = |name: &str, parameters: Value| json!({ "type": "function", "function": { "name": name, "parameters": parameters } });
    let width = json!({ "type": "object", "properties": { "n": { "type": "integer", "format": "uint32" } } });
    let request = json!({ "tools": [
        function("good", width),
        function("good", json!({})),
        function("bad", json!({ "type": "array" })),
        function("none", Value::Null),
        function("no name", json!({ "type": "object" })),
        { "type": "web_search" },
        7,
    ] });
    let mut exchange = exchange(&json!([]), &json!({ "status": 200 }));
    exchange.request = request;
    let request = RecordedRequest::of(Protocol::ChatCompletions, &exchange);
    let (tools, notes) = offered(&request.tools, &Arc::default());
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["good", "bad", "none"]);
    assert_eq!(
        tools[1].describe().input_schema,
        &json!({ "type": "object" })
    );
    let notes = notes.join("\n");
    for part in [
        "`good` is offered twice",
        "`bad` accepts any object",
        "`no name` is invalid",
        "`web_search` runs at the provider",
    ] {
        assert!(notes.contains(part), "{part} is missing in {notes}");
    }
}

/// Any JSON, often with meaningful names.
fn anything() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "user",
        "assistant",
        "tool",
        "system",
        "a",
        "",
        "look",
        "{}",
        "text",
        "function",
        "object",
        "model",
        "tool_use",
        "tool_result",
        "function_call",
        "function_call_output",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "id",
        "function",
        "name",
        "arguments",
        "type",
        "text",
        "messages",
        "tools",
        "parameters",
        "choices",
        "message",
        "finish_reason",
        "contents",
        "parts",
        "functionCall",
        "functionResponse",
        "functionDeclarations",
        "input",
        "output",
        "system",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|fields| {
                let fields = fields.into_iter();
                fields
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn every_exchange_is_in_one_turn_in_order(
        bodies in prop::collection::vec((anything(), anything(), any::<bool>()), 0..6),
    ) {
        let exchanges: Vec<Exchange> = bodies.iter().enumerate().map(|(at, (request, response, truncated))| {
            let mut exchange = exchange(request, &json!({ "status": 200, "body": response, "truncated": truncated }));
            exchange.path = at.to_string();
            exchange
        }).collect();
        let turns = turns(exchanges);
        let paths: Vec<&str> = turns.iter().flat_map(|turn| &turn.exchanges).map(|item| item.path.as_str()).collect();
        let all: Vec<String> = (0..bodies.len()).map(|at| at.to_string()).collect();
        prop_assert_eq!(paths, all);
        prop_assert!(turns.iter().all(|turn| !turn.exchanges.is_empty()));
    }

    #[test]
    fn no_request_causes_a_panic(body in anything()) {
        let mut exchange = exchange(&json!([]), &json!({ "status": 200 }));
        exchange.request = body;
        for protocol in Protocol::ALL {
            let request = RecordedRequest::of(protocol, &exchange);
            let beginning = Beginning::of(&request);
            prop_assert!(beginning.before.len() <= 40);
            let (tools, _) = offered(&request.tools, &Arc::default());
            prop_assert!(tools.len() <= request.tools.len());
        }
    }
}
