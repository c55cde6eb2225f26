//! Every recorded response decodes to the same result as with another decoder, however its bytes arrive.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use turnwright_core::Usage;
use turnwright_models::Protocol;
use turnwright_models::decode::{Cut, Finish, error_message};

use crate::rng::Rng;
use crate::wire::{Recorded, all_recorded, collect, decode_pieces, folder, folder_name, recorded};

#[test]
fn recorded_responses_decode_as_expected() {
    for protocol in Protocol::ALL {
        let Some(recorded) = recorded(protocol) else {
            return;
        };
        let expected = expected(protocol);
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
            "{protocol}: {} of {count} recorded responses decode as expected: {tally:?}",
            count - differences.len()
        ));
        assert_eq!(expected.len(), count, "a response for every line");
        assert!(
            differences.is_empty(),
            "{protocol}: {} of {count} differ:\n{}",
            differences.len(),
            differences.join("\n")
        );
    }
}

/// Returns the content of a response in the format of the expected results.
fn found(response: &Recorded) -> (&'static str, Value) {
    let body = response.body.as_bytes();
    let kind = match response.status {
        400.. => {
            let message = error_message(body);
            let plain = response.body.replace("\\n", " ").replace('\n', " ");
            // The field that the message is about may follow in parentheses.
            let stated = message.split(" (").next().unwrap();
            assert!(plain.contains(stated.trim_end_matches('…')), "{message}");
            "errors"
        }
        _ if response.is_stream() => "streams",
        _ => "bodies",
    };
    let content_type = response.content_type.as_deref();
    let status = response.status as u16;
    let line = response
        .protocol
        .describe_response(status, content_type, body);
    (
        kind,
        line.unwrap_or_else(|error| json!({ "error": error.to_string() })),
    )
}

/// The rule of each protocol for [`Usage`], from the counts in the expected results.
fn normalised(protocol: Protocol, reported: &Value) -> Usage {
    let of = |name: &str| reported[name].as_u64().unwrap_or(0);
    let (input, output) = match protocol {
        // Cached tokens are not part of the input.
        Protocol::Anthropic => (of("input") + of("cached") + of("cache_write"), of("output")),
        // Neither tools of the provider nor reasoning are part of the counts.
        Protocol::Gemini => (
            of("input") + of("tool_input"),
            of("output") + of("reasoning"),
        ),
        _ => (of("input"), of("output")),
    };
    Usage::tokens(input, output)
        .cached(of("cached"))
        .cache_written(of("cache_write"))
        .reasoning(of("reasoning"))
}

#[test]
fn recorded_usage_is_normalised_by_the_rule_of_its_protocol() {
    for protocol in Protocol::ALL {
        let Some(recorded) = recorded(protocol) else {
            return;
        };
        let expected = expected(protocol);
        let mut compared = 0;
        for response in recorded.iter().filter(|item| item.status < 400) {
            let name = response.name();
            let reported = &expected[&(response.file.clone(), response.index)]["usage"];
            let (deltas, _) = decode_pieces(response.decoder(), [response.body.as_bytes()]);
            let Some(mut usage) = collect(deltas).usage.filter(|_| reported.is_object()) else {
                continue;
            };
            let mut rule = normalised(protocol, reported);
            if protocol == Protocol::ChatCompletions {
                // The expected results do not have it.
                (usage.reasoning_tokens, rule.reasoning_tokens) = (0, 0);
            }
            assert_eq!(usage, rule, "{protocol} {name}: {reported}");
            assert!(
                usage.cached_input_tokens + usage.cache_write_tokens <= usage.input_tokens,
                "{protocol} {name}"
            );
            if let Some(total) = reported["total"].as_u64() {
                assert_eq!(usage.total_tokens(), total, "{protocol} {name}");
            }
            compared += 1;
        }
        crate::say(format_args!("{protocol}: usage of {compared} responses"));
        assert!(compared > 20, "{protocol}");
    }
}

fn expected(protocol: Protocol) -> BTreeMap<(String, usize), Value> {
    let name = format!("expected_{}.jsonl", folder_name(protocol));
    let text = fs::read_to_string(folder().unwrap().join(name)).unwrap();
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
fn recorded_responses_decode_the_same_for_any_split() {
    let Some(recorded) = all_recorded() else {
        return;
    };
    // The smallest of every server: each is decoded once per byte.
    let mut sample: BTreeMap<String, Vec<&Recorded>> = BTreeMap::new();
    for response in recorded
        .iter()
        .filter(|item| item.status < 400 && item.is_stream())
    {
        let server = response.file.split('/').next().unwrap();
        sample
            .entry(format!("{} {server}", response.protocol))
            .or_default()
            .push(response);
    }
    let mut cuts = 0;
    for of_server in sample.values_mut() {
        of_server.sort_by_key(|response| response.body.len());
        for response in of_server
            .iter()
            .take(2)
            .filter(|item| item.body.len() < 8_000)
        {
            let bytes = response.body.as_bytes();
            let (complete, ended) = decode_pieces(response.decoder(), [bytes]);
            let state = ended.unwrap();
            for cut in 0..=bytes.len() {
                let (one, two) = bytes.split_at(cut);
                let (deltas, ended) = decode_pieces(response.decoder(), [one, two]);
                let is_same = deltas == complete && ended.unwrap() == state;
                assert!(is_same, "{} cut at {cut}", response.name());
                cuts += 1;
            }
        }
    }
    crate::say(format_args!("{cuts} cuts of recorded responses"));
    assert!(cuts > 0);
}

#[test]
fn recorded_responses_decode_the_same_in_any_piece_size() {
    let Some(recorded) = all_recorded() else {
        return;
    };
    for (case, response) in recorded.iter().enumerate() {
        let bytes = response.body.as_bytes();
        let (complete, ended) = decode_pieces(response.decoder(), [bytes]);
        let ended = ended.map_err(|error| error.to_string());
        let mut rng = Rng::of_case(1, case as u64);
        let ways = [bytes.chunks(1).collect(), rng.cut(bytes), rng.cut(bytes)];
        for pieces in ways {
            let (deltas, in_pieces) = decode_pieces(response.decoder(), pieces);
            assert!(deltas == complete, "{}", response.name());
            let in_pieces = in_pieces.map_err(|error| error.to_string());
            assert_eq!(in_pieces, ended, "{}", response.name());
        }
    }
}

#[test]
fn recorded_responses_decode_the_same_for_any_content_type() {
    let Some(recorded) = all_recorded() else {
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
        let (as_told, _) = decode_pieces(response.decoder(), [bytes]);
        for content_type in types {
            let (deltas, ended) = decode_pieces(response.protocol.decoder(content_type), [bytes]);
            ended.unwrap();
            assert!(deltas == as_told, "{} {content_type:?}", response.name());
        }
    }
}

#[test]
fn recorded_errors_are_understood_with_any_status() {
    let Some(recorded) = all_recorded() else {
        return;
    };
    let errors = recorded.iter().filter(|item| item.status >= 400);
    let mut count = 0;
    for response in errors {
        let decoded = response.protocol.decode(None, response.body.as_bytes());
        let error = decoded.unwrap_err();
        assert_eq!(
            error.code().as_str(),
            "E_MODEL_SERVER_ERROR",
            "{}",
            response.name()
        );
        let message = error_message(response.body.as_bytes());
        assert!(error.message().ends_with(&message), "{error}");
        assert!(!message.contains('{'), "{message}");
        count += 1;
    }
    crate::say(format_args!("{count} recorded errors"));
}

#[test]
fn recorded_responses_are_complete_unless_truncated() {
    let Some(recorded) = all_recorded() else {
        return;
    };
    let mut cut_off: BTreeMap<Protocol, usize> = BTreeMap::new();
    for response in recorded.iter().filter(|item| item.status < 400) {
        let name = response.name();
        let reply = response.protocol.decode(None, response.body.as_bytes());
        let reply = reply.unwrap();
        assert!(reply.done, "{name}");
        match reply.finish {
            Some(Finish::Stop | Finish::ToolCalls) => assert!(reply.is_complete(), "{name}"),
            Some(Finish::Cut(cut)) => {
                assert!(!reply.is_complete() && reply.cut() == Some(cut), "{name}");
                assert!(matches!(cut, Cut::Length | Cut::Filter), "{name}");
                *cut_off.entry(response.protocol).or_default() += 1;
            }
            other => panic!("{name}: {other:?}"),
        }
        if !response.is_stream() {
            continue;
        }
        // Without its last event it is not complete, unless the end of the stream is all that is missing.
        let half = &response.body.as_bytes()[..response.body.len() / 2];
        let (deltas, _) = decode_pieces(response.decoder(), [half]);
        assert!(!collect(deltas).done, "{name}");
        if response.protocol == Protocol::Responses {
            // Only the last event tells that the response is complete; all text precedes it.
            let end = response.body.rfind("\"type\":\"response.").unwrap();
            let (deltas, _) = decode_pieces(response.decoder(), [&response.body.as_bytes()[..end]]);
            let partial = collect(deltas);
            assert!(!partial.done && partial.finish.is_none(), "{name}");
            assert_eq!(
                (partial.text, partial.reasoning),
                (reply.text, reply.reasoning),
                "{name}"
            );
        }
    }
    crate::say(format_args!(
        "recorded responses that were cut off: {cut_off:?}"
    ));
}
