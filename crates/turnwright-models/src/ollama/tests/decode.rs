use serde_json::{Value, json};
use turnwright_core::Error;

use crate::Protocol;
use crate::decode::{Cut, Finish, Reply};

fn decode(lines: &[Value]) -> Result<Reply, Error> {
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Protocol::Ollama.decode(Some("application/x-ndjson"), body.as_bytes())
}

fn piece(message: &Value) -> Value {
    json!({ "model": "m", "message": message, "done": false })
}

fn done(reason: &str) -> Value {
    json!({ "model": "m", "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": reason,
        "prompt_eval_count": 31, "eval_count": 7 })
}

#[test]
fn lines_are_one_reply() {
    let call =
        |city: &str| json!({ "function": { "name": "weather", "arguments": { "city": city } } });
    let reply = decode(&[
        piece(&json!({ "content": "", "thinking": "Hm" })),
        piece(&json!({ "content": "", "thinking": "m." })),
        piece(&json!({ "content": "I look." })),
        piece(&json!({ "content": "", "tool_calls": [call("Bern"), call("Bern")] })),
        done("stop"),
    ])
    .unwrap();
    assert_eq!((&*reply.reasoning, &*reply.text), ("Hmm.", "I look."));
    assert_eq!(reply.tool_calls.len(), 2);
    assert_eq!(reply.tool_calls[1].arguments, r#"{"city":"Bern"}"#);
    assert_eq!(reply.finish, Some(Finish::ToolCalls));
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (31, 7));
    assert!(reply.is_complete() && reply.done);
    assert!(reply.state.is_empty());
}

#[test]
fn finish_reasons_are_classified() {
    let text = piece(&json!({ "content": "Hello" }));
    let finish = |reason: &str| decode(&[text.clone(), done(reason)]).unwrap().finish;
    assert_eq!(finish("stop"), Some(Finish::Stop));
    assert_eq!(finish("length"), Some(Finish::Cut(Cut::Length)));
    assert_eq!(finish("load"), Some(Finish::Unknown));
    // Old servers give no reason.
    let reply = decode(&[text.clone(), json!({ "message": {}, "done": true })]).unwrap();
    assert!(reply.is_complete());
    let cut = decode(&[text]).unwrap();
    assert!(!cut.done && !cut.is_complete());
}

#[test]
fn error_lines_and_other_protocols_are_errors() {
    let error = decode(&[
        piece(&json!({ "content": "a" })),
        json!({ "error": "out of memory" }),
    ]);
    let error = error.unwrap_err();
    assert_eq!(error.code().as_str(), "E_MODEL_SERVER_ERROR");
    assert_eq!(error.kind(), turnwright_core::ErrorKind::Unavailable);
    assert!(error.message().contains("out of memory"), "{error}");
    let other = decode(&[json!({ "choices": [] })]).unwrap_err();
    assert!(
        other.message().contains("this looks like Chat Completions"),
        "{other}"
    );
    let list = Protocol::Ollama.decode(None, b"[]").unwrap_err();
    assert_eq!(list.code().as_str(), "E_WIRE_ERROR");
}

#[test]
fn number_of_calls_is_limited() {
    let call = json!({ "function": { "name": "f" } });
    let calls: Vec<Value> = vec![call; 1_000];
    let lines = [
        piece(&json!({ "tool_calls": calls })),
        piece(&json!({ "tool_calls": calls })),
    ];
    let error = decode(&lines).unwrap_err();
    assert!(error.message().contains("more than 1000 calls"), "{error}");
}

#[test]
fn blank_lines_count_towards_the_limit() {
    let line = format!("{}\n", piece(&json!({ "content": "a" })));
    let mut decoder = Protocol::Ollama.decoder(None).max_event(1_000);
    let mut deltas = Vec::new();
    // Not those before another object.
    for _ in 0..5 {
        decoder.push(line.as_bytes(), &mut deltas).unwrap();
        decoder.push(&[b'\n'; 800], &mut deltas).unwrap();
    }
    let error = decoder.push(&[b'\n'; 300], &mut deltas).unwrap_err();
    assert!(error.message().contains("1000 bytes"), "{error}");
}
