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

fn call(id: &str, city: &str) -> Value {
    let arguments = json!({ "city": city }).to_string();
    json!({ "id": id, "type": "function", "function": { "name": "weather", "arguments": arguments } })
}

fn exchange(messages: &[Value], status: u16, body: &Value) -> Value {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "type": "string", "minLength": 1 } },
        "required": ["city"],
    });
    let function =
        json!({ "name": "weather", "description": "The weather.", "parameters": parameters });
    json!({
        "request": {
            "method": "POST",
            "path": "/v1/chat/completions",
            "body": {
                "model": "m",
                "messages": messages,
                "tools": [{ "type": "function", "function": function }],
            },
        },
        "response": { "status": status, "headers": { "content-type": "application/json" }, "body": body },
    })
}

/// A user asks, two tools are called, one of them with arguments that are refused; the model answers; the user asks again.
fn session() -> Vec<Value> {
    let calls = json!([call("a", "Bern"), call("b", "")]);
    let called = json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let answered = json!({ "role": "assistant", "content": "It rains." });
    let mut messages = vec![
        json!({ "role": "system", "content": "Be brief." }),
        json!({ "role": "user", "content": "How is Bern?" }),
    ];
    let first = exchange(&messages, 200, &json!(reply(&called, "tool_calls")));
    messages.extend([
        called,
        json!({ "role": "tool", "tool_call_id": "b", "content": "nowhere" }),
        json!({ "role": "tool", "tool_call_id": "a", "content": "rain in Bern" }),
    ]);
    let second = exchange(&messages, 200, &json!(reply(&answered, "stop")));
    messages.extend([answered, json!({ "role": "user", "content": "And Basel?" })]);
    let refused = json!({ "error": { "message": "too many requests", "type": "rate_limit" } });
    let third = exchange(&messages, 429, &json!(refused.to_string()));
    let again = json!({ "role": "assistant", "content": null, "tool_calls": [call("c", "Basel")] });
    let fourth = exchange(&messages, 200, &json!(reply(&again, "tool_calls")));
    vec![first, second, third, fourth]
}

#[test]
fn a_recorded_session_is_replayed_turn_by_turn() {
    let folder = Folder::new();
    let file = folder.write("session.json", &json!(session()).to_string());
    let ran = run(&["wire", "replay", &file]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let parts = [
        "turn 1 of 3",
        "> How is Bern?",
        "→ weather {\"city\":\"Bern\"}",
        "← rain in Bern",
        "It rains.",
        "turn 2 of 3",
        "> And Basel?",
        "no answer:",
        "too many requests",
        "turn 3 of 3",
        "→ weather {\"city\":\"Basel\"}",
        "← (the result of this call was not recorded)",
        "turn 1: a call of weather was not run: ",
        "/city: must be at least 1 character",
        "turn 1: ended as recorded, with an answer and the same text",
        "turn 2: ended as recorded, with server error 429",
        "turn 3: ended as recorded, with calls",
        "4 of 4 recorded responses were replayed",
    ];
    let mut rest = ran.out.as_str();
    for part in parts {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("{part:?} is missing in {rest}"));
        rest = &rest[at + part.len()..];
    }
}

/// A session with a protocol whose calls have no ids, at a path that does not tell the protocol.
fn gemini_session() -> Value {
    let exchange = |contents: &Value, parts: &Value| {
        let function = json!({ "name": "weather", "description": "The weather.", "parametersJsonSchema": { "type": "object" } });
        let candidate =
            json!({ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" });
        json!({
            "request": {
                "method": "POST",
                "path": "/proxy",
                "body": { "contents": contents, "tools": [{ "functionDeclarations": [function] }] },
            },
            "response": { "status": 200, "headers": {}, "body": json!({ "candidates": [candidate] }).to_string() },
        })
    };
    let call =
        |city: &str| json!({ "functionCall": { "name": "weather", "args": { "city": city } } });
    let result = |text: &str| json!({ "functionResponse": { "name": "weather", "response": { "result": text } } });
    let asked = json!({ "role": "user", "parts": [{ "text": "How are they?" }] });
    let calls = json!([call("Bern"), call("Basel")]);
    let results = json!([result("rain in Bern"), result("sun in Basel")]);
    let contents =
        json!([asked, { "role": "model", "parts": calls }, { "role": "user", "parts": results }]);
    json!([
        exchange(&json!([asked]), &calls),
        exchange(&contents, &json!([{ "text": "Mixed." }])),
    ])
}

#[test]
fn a_session_of_another_protocol_is_replayed() {
    for protocol in [None, Some("--protocol=gemini")] {
        let args = ["wire", "replay", "-", "--json"]
            .into_iter()
            .chain(protocol);
        let args: Vec<&str> = args.collect();
        let ran = run_with(&args, &gemini_session().to_string());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        for part in ["rain in Bern", "sun in Basel", "Mixed."] {
            assert!(ran.out.contains(part), "{part} is missing in {}", ran.out);
        }
        let last = ran.json().last().unwrap().clone();
        assert_eq!((&last["ok"], &last["played"]), (&json!(true), &json!(2)));
        assert_eq!(last["turns"][0]["sameText"], true);
    }
    // The wrong protocol is reported.
    let args = ["wire", "replay", "-", "--protocol=anthropic"];
    let ran = run_with(&args, &gemini_session().to_string());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.out.contains("a response of another protocol"),
        "{}",
        ran.out
    );
    let ran = run_with(&["wire", "replay", "-", "--protocol=smtp"], "[]");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.err.contains("chat_completions, responses"),
        "{}",
        ran.err
    );
}

#[test]
fn requests_that_are_not_for_a_reply_are_skipped() {
    let mut tape = gemini_session();
    let list = json!({
        "request": { "method": "GET", "path": "/v1beta/models", "body": null },
        "response": { "status": 200, "headers": {}, "body": "{}" },
    });
    tape.as_array_mut().unwrap().insert(0, list.clone());
    let ran = run_with(&["wire", "replay", "-"], &tape.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("2 of 2 recorded responses"), "{}", ran.out);
    let ran = run_with(&["wire", "replay", "-"], &json!([list]).to_string());
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("contains no request"), "{}", ran.err);
}

#[test]
fn json_output_of_a_replay_is_line_by_line() {
    let ran = run_with(
        &["wire", "replay", "-", "--json"],
        &json!(session()).to_string(),
    );
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines = ran.json();
    assert_eq!(lines[0]["event"], "replayedTurn");
    assert_eq!(lines[0]["input"], "How is Bern?");
    let ends = lines.iter().filter(|line| line["event"] == "turnEnd");
    let ends: Vec<&str> = ends.map(|line| line["status"].as_str().unwrap()).collect();
    assert_eq!(ends, ["answered", "failed", "answered"]);
    let last = lines.last().unwrap();
    assert_eq!(last["event"], "replayed");
    assert_eq!(last["ok"], true);
    assert_eq!(
        (&last["played"], &last["responses"]),
        (&json!(4), &json!(4))
    );
    assert_eq!(last["turns"][0]["sameText"], true);
    assert_eq!(last["turns"][0]["refused"][0]["tool"], "weather");
}

#[test]
fn a_recorded_tool_with_an_unenforceable_schema_accepts_any_object() {
    let mut session = session();
    let function = "/request/body/tools/0/function/parameters";
    *session[0].pointer_mut(function).unwrap() = json!({ "type": "string" });
    let ran = run_with(&["wire", "replay", "-"], &json!(session).to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.out
            .contains("note: the tool `weather` accepts any object here"),
        "{}",
        ran.out
    );
    // Where both of its calls run at once it is said whose result it is.
    let messages = ["← nowhere", "← weather: nowhere"];
    assert!(
        messages.iter().any(|item| ran.out.contains(item)),
        "{}",
        ran.out
    );
}

#[test]
fn a_response_of_another_protocol_is_not_as_recorded() {
    let messages = [json!({ "role": "user", "content": "Hi" })];
    let tape = json!([exchange(&messages, 200, &json!({ "content": [] }))]);
    let ran = run_with(&["wire", "replay", "-", "--json"], &tape.to_string());
    assert_eq!(ran.code, 1);
    assert_eq!(ran.json().last().unwrap()["ok"], false);
}

#[test]
fn an_incomplete_recording_is_replayed_as_such() {
    let messages = [json!({ "role": "user", "content": "Hi" })];
    let begun = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let mut broken = exchange(&messages, 200, &json!(begun));
    broken["response"]["truncated"] = json!(true);
    broken["response"]["headers"]["content-type"] = json!("text/event-stream");
    let ran = run_with(&["wire", "replay", "-"], &json!([broken]).to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("\n│ Hel\n"), "{}", ran.out);
    assert!(
        ran.out
            .contains("ended as recorded, with an incomplete response")
    );
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
    for command in ["decode", "replay"] {
        for (text, word) in [
            ("", "EOF"),
            ("{}", "expected a sequence"),
            ("[1,", "line 1 column 3"),
        ] {
            let ran = run_with(&["wire", command, "-"], text);
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
            assert!(ran.err.contains(word), "{}", ran.err);
            assert!(ran.err.contains("\"request\""), "{}", ran.err);
        }
        let missing = run(&["wire", command, "no-such-tape.json"]);
        assert_eq!(missing.code, 2);
        assert!(
            missing
                .err
                .contains("cannot read the recording from `no-such-tape.json`")
        );
    }
    let half = run_with(&["wire", "replay", "-"], "[{}]");
    assert_eq!(half.code, 2);
    assert!(
        half.err.contains("exchange 0 is not a recorded exchange"),
        "{}",
        half.err
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

#[test]
fn recordings_of_real_servers_are_replayed() {
    let Some(folder) = recordings() else { return };
    let mut played: BTreeMap<&str, u64> = BTreeMap::new();
    for protocol in FOLDERS {
        for (responses, file) in longest(&folder, protocol) {
            let ran = run(&["wire", "replay", &file, "--json"]);
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{file}\n{}", ran.out);
            let lines = ran.json();
            assert_eq!(lines.last().unwrap()["played"], responses, "{file}");
            *played.entry(protocol).or_default() += responses;
        }
    }
    say(format_args!(
        "wire replay: recorded responses that were replayed: {played:?}"
    ));
}

/// The folders of the recordings of each protocol.
const FOLDERS: [&str; 5] = [
    "chat_completions",
    "openai_responses",
    "anthropic_messages",
    "gemini",
    "ollama",
];

/// The longest sessions of every server, with the number of their requests. A process for each takes its time.
fn longest(folder: &Path, protocol: &str) -> Vec<(u64, String)> {
    let mut of_server: BTreeMap<PathBuf, Vec<(u64, String)>> = BTreeMap::new();
    for file in sessions(folder, protocol) {
        let session: Vec<Value> =
            serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let requests = session
            .iter()
            .filter(|item| item["request"]["method"] == "POST");
        let server = Path::new(&file).parent().unwrap().to_owned();
        let of_server = of_server.entry(server).or_default();
        of_server.push((requests.count() as u64, file));
    }
    for sessions in of_server.values_mut() {
        sessions.sort_by(|a, b| b.cmp(a));
        sessions.truncate(4);
    }
    of_server.into_values().flatten().collect()
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
