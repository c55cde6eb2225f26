//! Every recorded response decodes to the same result as with another decoder, however its bytes arrive.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use turnwright_models::Protocol;
use turnwright_models::decode::{Collector, Cut, Finish, error_message};

use super::recorded::{Recorded, decode_pieces, folder, recorded};
use crate::rng::Rng;

#[test]
fn recorded_responses_decode_as_expected() {
    let Some(recorded) = recorded() else {
        return;
    };
    let expected = expected();
    let mut tally: BTreeMap<&str, usize> = BTreeMap::new();
    let mut differences = Vec::new();
    for response in &recorded {
        let key = (response.file.clone(), response.index);
        let expected = expected.get(&key).expect("a line for every response");
        let (kind, found) = found(response);
        *tally.entry(kind).or_default() += 1;
        if found != *expected {
            let name = response.name();
            differences.push(format!("{name}\n  expected {expected}\n  found    {found}"));
        }
    }
    let count = recorded.len();
    crate::say(format_args!(
        "responses: {} of {count} recorded responses decode as expected: {tally:?}",
        count - differences.len()
    ));
    assert_eq!(expected.len(), count, "a response for every line");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Returns the content of a response in the format of the expected results.
fn found(response: &Recorded) -> (&'static str, Value) {
    let body = response.body.as_bytes();
    if response.status >= 400 {
        let error: Value = serde_json::from_slice(body).unwrap();
        let names = match &error["error"] {
            Value::Object(_) => &error["error"],
            _ => &error,
        };
        let message = names["message"]
            .as_str()
            .or(error["error"].as_str())
            .unwrap();
        assert!(error_message(body).starts_with(message), "{message}");
        let error = json!({ "type": names["type"], "code": names["code"], "message": message });
        return (
            "errors",
            json!({ "status": response.status, "error": error }),
        );
    }
    let reply = Protocol::Responses.decode(response.content_type.as_deref(), body);
    let mut line = match reply {
        Ok(reply) => Protocol::Responses.describe(&reply),
        Err(error) => json!({ "failed": error.to_string() }),
    };
    line["status"] = response.status.into();
    line["streamed"] = response.is_stream().into();
    match response.is_stream() {
        true => ("streams", line),
        false => ("bodies", line),
    }
}

fn expected() -> BTreeMap<(String, usize), Value> {
    let path = folder().unwrap().join("expected_openai_responses.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        let file = fields.remove("file").unwrap().as_str().unwrap().to_owned();
        let index = fields.remove("index").unwrap().as_u64().unwrap() as usize;
        ((file, index), line)
    });
    lines.collect()
}

#[test]
fn recorded_responses_decode_the_same_in_any_piece_size() {
    let Some(recorded) = recorded() else {
        return;
    };
    for (case, response) in recorded.iter().enumerate() {
        let bytes = response.body.as_bytes();
        let (complete, state, ended) = decode_pieces(response.decoder(), [bytes]);
        let message = ended.err().map(|error| error.to_string());
        let mut rng = Rng::of_case(1, case as u64);
        let ways = [bytes.chunks(1).collect(), rng.cut(bytes), rng.cut(bytes)];
        for pieces in ways {
            let (deltas, found, ended) = decode_pieces(response.decoder(), pieces);
            assert!(deltas == complete && found == state, "{}", response.name());
            let ended = ended.err().map(|error| error.to_string());
            assert_eq!(ended, message, "{}", response.name());
        }
    }
}

#[test]
fn recorded_responses_decode_the_same_for_any_content_type() {
    let Some(recorded) = recorded() else {
        return;
    };
    let types = [
        None,
        Some("application/octet-stream"),
        Some("application/json"),
        Some("Text/Event-Stream; charset=utf-8"),
        Some(""),
    ];
    for response in recorded.iter().filter(|item| item.status < 400) {
        let bytes = response.body.as_bytes();
        let (as_told, ..) = decode_pieces(response.decoder(), [bytes]);
        for content_type in types {
            let decoder = Protocol::Responses.decoder(content_type);
            let (deltas, _, ended) = decode_pieces(decoder, [bytes]);
            ended.unwrap();
            assert!(deltas == as_told, "{} {content_type:?}", response.name());
        }
    }
}

#[test]
fn recorded_responses_are_complete_unless_truncated() {
    let Some(recorded) = recorded() else {
        return;
    };
    let (mut cut_off, mut with_calls) = (0, 0);
    for response in recorded.iter().filter(|item| item.status < 400) {
        let name = response.name();
        let reply = Protocol::Responses
            .decode(None, response.body.as_bytes())
            .unwrap();
        assert!(reply.done, "{name}");
        match reply.finish.unwrap() {
            Finish::ToolCalls => {
                assert!(
                    reply.is_complete() && !reply.tool_calls.is_empty(),
                    "{name}"
                );
                with_calls += 1;
            }
            Finish::Stop => assert!(reply.is_complete() && reply.tool_calls.is_empty(), "{name}"),
            Finish::Cut(Cut::Length) => cut_off += 1,
            other => panic!("{name}: {other:?}"),
        }
        if response.is_stream() {
            // Without its last event it is not complete.
            let end = response.body.rfind("\"type\":\"response.").unwrap();
            let (deltas, ..) =
                decode_pieces(response.decoder(), [&response.body.as_bytes()[..end]]);
            let mut collector = Collector::new();
            collector.extend(deltas);
            let partial = collector.into_reply();
            assert!(!partial.done && partial.finish.is_none(), "{name}");
            assert!(
                partial.text == reply.text && partial.reasoning == reply.reasoning,
                "{name}"
            );
        }
    }
    crate::say(format_args!(
        "responses: {with_calls} with calls, {cut_off} cut off"
    ));
    assert!(with_calls > 0 && cut_off > 0);
}
