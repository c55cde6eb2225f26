//! `turnwright wire`: recordings of model servers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::program::{run, run_with};
use crate::say;

/// A body of the protocol with this message.
fn reply(message: &Value, reason: &str) -> String {
    json!({ "choices": [{ "index": 0, "message": message, "finish_reason": reason }] }).to_string()
}

fn exchange(messages: &[Value], status: u16, body: &Value) -> Value {
    json!({
        "request": { "method": "POST", "path": "/v1/chat/completions", "body": { "model": "m", "messages": messages } },
        "response": { "status": status, "headers": { "content-type": "application/json" }, "body": body },
    })
}

#[test]
fn an_invalid_response_does_not_affect_the_others() {
    let folder = Folder::new();
    let messages = [json!({ "role": "user", "content": "Hi" })];
    let text = reply(
        &json!({ "role": "assistant", "content": "Hi \u{202e}you" }),
        "stop",
    );
    let tape = json!([
        exchange(&messages, 200, &json!({ "base64": "eyJjaG9pY2VzIjpbeyJtZXNzYWdlIjp7ImNvbnRlbnQiOiJIZWxsbyJ9fV19" })),
        exchange(&messages, 200, &json!("<html>")),
        exchange(&messages, 503, &json!("busy")),
        exchange(&messages, 200, &json!({ "base64": "?" })),
        { "request": 7 },
        exchange(&messages, 200, &json!(text)),
    ]);
    let file = folder.write("made/openai/odd.json", &tape.to_string());
    for more in [None, Some("--json")] {
        let args: Vec<&str> = ["wire", "decode", &file].into_iter().chain(more).collect();
        let ran = run(&args);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""));
        let lines = ran.json();
        assert_eq!(lines.len(), 6);
        for (index, line) in lines.iter().enumerate() {
            assert_eq!(line["file"], "openai/odd.json");
            assert_eq!(line["index"], index);
        }
        assert_eq!(lines[0]["text"], "Hello");
        assert_eq!(lines[0]["finish_reason"], Value::Null);
        assert!(lines[1]["error"].as_str().unwrap().contains("<html>"));
        assert_eq!(
            lines[2],
            json!({ "file": "openai/odd.json", "index": 2, "status": 503 })
        );
        assert!(lines[3]["error"].as_str().unwrap().contains("not base64"));
        assert!(
            lines[4]["error"]
                .as_str()
                .unwrap()
                .contains("not a recorded exchange")
        );
        assert_eq!(lines[5]["text"], "Hi \u{202e}you");
        // What would turn the text around on a terminal is escaped.
        assert!(ran.out.contains("Hi \\u202eyou"), "{}", ran.out);
    }
}

#[test]
fn a_file_that_is_not_a_recording_is_refused() {
    for (text, word) in [
        ("", "EOF"),
        ("{}", "expected a sequence"),
        ("[1,", "line 1 column 3"),
    ] {
        let ran = run_with(&["wire", "decode", "-"], text);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(word), "{}", ran.err);
        assert!(ran.err.contains("\"request\""), "{}", ran.err);
    }
    let missing = run(&["wire", "decode", "no-such-tape.json"]);
    assert_eq!(missing.code, 2);
    let message = "cannot read the recording from `no-such-tape.json`";
    assert!(missing.err.contains(message), "{}", missing.err);
}

#[test]
fn the_protocol_can_be_given() {
    let body = json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "Mixed." }] } }] });
    let mut recorded = exchange(&[], 200, &json!(body.to_string()));
    recorded["request"]["path"] = json!("/proxy");
    let recording = json!([recorded]).to_string();
    for protocol in [None, Some("--protocol=gemini")] {
        let args: Vec<&str> = ["wire", "decode", "-"]
            .into_iter()
            .chain(protocol)
            .collect();
        let ran = run_with(&args, &recording);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        assert_eq!(ran.json()[0]["text"], "Mixed.");
    }
    let ran = run_with(&["wire", "decode", "-", "--protocol=anthropic"], &recording);
    assert_eq!(ran.code, 1, "{ran:?}");
    let ran = run_with(&["wire", "decode", "-", "--protocol=smtp"], "[]");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.err.contains("chat_completions, responses"),
        "{}",
        ran.err
    );
}

#[test]
fn recordings_of_real_servers_decode_as_expected() {
    let Some(folder) = recordings() else { return };
    let expected = fs::read_to_string(folder.join("expected_chat_completions.jsonl")).unwrap();
    let mut expected: BTreeMap<(String, u64), String> = expected
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let file = line["file"].as_str().unwrap().to_owned();
            ((file, line["index"].as_u64().unwrap()), line.to_string())
        })
        .collect();
    let mut args = vec!["wire".to_owned(), "decode".to_owned()];
    args.extend(sessions(&folder, "chat_completions"));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = run(&args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (mut equal, mut several) = (0, 0);
    for line in ran.json() {
        let file = line["file"].as_str().unwrap().to_owned();
        let key = (file, line["index"].as_u64().unwrap());
        let wanted = expected.remove(&key).expect("a line for every response");
        // As text: the names are in the same order.
        let found = line.to_string();
        if found == wanted {
            equal += 1;
            continue;
        }
        // Of several answers in one stream the first counts here; there all of them are mixed into one.
        assert!(asks_for_several(&folder, &key), "{line}\n{wanted}");
        several += 1;
    }
    assert!(expected.is_empty(), "{expected:?}");
    say(format_args!(
        "wire decode: {equal} recorded responses say what is expected, {several} more hold several answers"
    ));
    assert!(equal > 0);
}

fn asks_for_several(folder: &Path, (file, index): &(String, u64)) -> bool {
    let text = fs::read_to_string(folder.join("chat_completions").join(file)).unwrap();
    let session: Value = serde_json::from_str(&text).unwrap();
    session[*index as usize]["request"]["body"]["n"].as_u64() > Some(1)
}

/// Every recorded session of a protocol.
fn sessions(folder: &Path, protocol: &str) -> Vec<String> {
    let mut found = Vec::new();
    for provider in fs::read_dir(folder.join(protocol)).unwrap() {
        for file in fs::read_dir(provider.unwrap().path()).unwrap() {
            found.push(file.unwrap().path().to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

/// The recordings of real servers, which are not part of this repository.
fn recordings() -> Option<PathBuf> {
    let sibling = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    let root = std::env::var_os("TURNWRIGHT_WIRE").map_or(sibling, PathBuf::from);
    if !root.is_dir() {
        let place = root.display();
        say(format_args!(
            "SKIPPED: there are no recordings of real servers at {place}; set TURNWRIGHT_WIRE"
        ));
        return None;
    }
    Some(root)
}
