//! Every recorded response decodes to the same result as with another decoder, however its bytes arrive.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use turnwright_models::chat_completions::decode::{Decoder, decode, error_message};

use crate::rng::Rng;
use crate::wire::{Recorded, chat_completions, collect, decode_pieces, folder};

#[test]
fn recorded_responses_decode_as_expected() {
    let Some(recorded) = chat_completions() else {
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
        "{} of {count} recorded responses decode as expected: {tally:?}",
        count - differences.len()
    ));
    assert_eq!(expected.len(), count, "a response for every line");
    assert!(
        differences.is_empty(),
        "{} of {count} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// Returns the content of a response in the format of the expected results.
fn found(response: &Recorded) -> (&'static str, Value) {
    if response.status >= 400 {
        let message = error_message(response.body.as_bytes());
        assert!(response.body.contains(message.trim_end_matches('…')));
        return ("errors", json!({ "status": response.status }));
    }
    let content_type = response.content_type.as_deref();
    let reply = decode(content_type, response.body.as_bytes()).map(|reply| reply.to_value());
    let reply = reply.unwrap_or_else(|error| json!({ "error": error.to_string() }));
    match response.is_stream() {
        true => ("streams", reply),
        false => ("bodies", reply),
    }
}

fn expected() -> BTreeMap<(String, usize), Value> {
    let path = folder().unwrap().join("expected_chat_completions.jsonl");
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

fn decoder(response: &Recorded) -> Decoder {
    Decoder::new(response.content_type.as_deref())
}

#[test]
fn recorded_responses_decode_the_same_for_any_split() {
    let Some(recorded) = chat_completions() else {
        return;
    };
    // The smallest of every server: each is decoded once per byte.
    let mut sample: BTreeMap<String, Vec<&Recorded>> = BTreeMap::new();
    for response in recorded
        .iter()
        .filter(|item| item.status < 400 && item.is_stream())
    {
        let server = response.file.split('/').next().unwrap().to_owned();
        sample.entry(server).or_default().push(response);
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
            let (complete, ended) = decode_pieces(decoder(response), [bytes]);
            ended.unwrap();
            for cut in 0..=bytes.len() {
                let (one, two) = bytes.split_at(cut);
                let (deltas, ended) = decode_pieces(decoder(response), [one, two]);
                ended.unwrap();
                assert!(deltas == complete, "{} cut at {cut}", response.name());
                cuts += 1;
            }
        }
    }
    crate::say(format_args!("{cuts} cuts of recorded responses"));
    assert!(cuts > 0);
}

#[test]
fn recorded_responses_decode_the_same_in_any_piece_size() {
    let Some(recorded) = chat_completions() else {
        return;
    };
    for (case, response) in recorded.iter().enumerate() {
        let bytes = response.body.as_bytes();
        let (complete, ended) = decode_pieces(decoder(response), [bytes]);
        let message = ended.err().map(|error| error.to_string());
        let mut rng = Rng::of_case(1, case as u64);
        let ways = [bytes.chunks(1).collect(), rng.cut(bytes), rng.cut(bytes)];
        for pieces in ways {
            let (deltas, ended) = decode_pieces(decoder(response), pieces);
            assert!(deltas == complete, "{}", response.name());
            let ended = ended.err().map(|error| error.to_string());
            assert_eq!(ended, message, "{}", response.name());
        }
    }
}

#[test]
fn recorded_responses_decode_the_same_for_any_content_type() {
    let Some(recorded) = chat_completions() else {
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
        let (as_told, _) = decode_pieces(decoder(response), [bytes]);
        for content_type in types {
            let (deltas, ended) = decode_pieces(Decoder::new(content_type), [bytes]);
            ended.unwrap();
            assert!(deltas == as_told, "{} {content_type:?}", response.name());
        }
    }
}

#[test]
fn recorded_errors_are_understood_with_any_status() {
    let Some(recorded) = chat_completions() else {
        return;
    };
    let errors = recorded.iter().filter(|item| item.status >= 400);
    let mut count = 0;
    for response in errors {
        let error = decode(None, response.body.as_bytes()).unwrap_err();
        assert_eq!(error.code().as_str(), "E_MODEL_SERVER_ERROR");
        let message = error_message(response.body.as_bytes());
        assert!(error.message().ends_with(&message), "{error}");
        assert!(!message.contains('{'), "{message}");
        count += 1;
    }
    crate::say(format_args!("{count} recorded errors"));
}

#[test]
fn recorded_responses_are_complete_unless_truncated() {
    let Some(recorded) = chat_completions() else {
        return;
    };
    let expected = expected();
    for response in recorded.iter().filter(|item| item.status < 400) {
        let key = (response.file.clone(), response.index);
        let reason = expected[&key]["finish_reason"].as_str();
        let cut_off = [None, Some("length"), Some("content_filter"), Some("error")];
        let reply = decode(None, response.body.as_bytes()).unwrap();
        let name = response.name();
        assert_eq!(reply.is_complete(), !cut_off.contains(&reason), "{name}");
        assert!(reply.done, "{name}");
        // Before its finish reason it is not complete.
        let reasons = ["\"finish_reason\":\"", "\"finish_reason\": \""];
        let end = reasons
            .iter()
            .filter_map(|item| response.body.find(item))
            .min();
        let begun = &response.body.as_bytes()[..end.unwrap_or_default()];
        let (deltas, _) = decode_pieces(decoder(response), [begun]);
        assert!(!collect(deltas).is_complete(), "{name}");
    }
}
