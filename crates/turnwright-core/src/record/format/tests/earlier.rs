use serde_json::{Value, json};

use super::{again, resolver};
use crate::record::{ProviderState, Record, RecordKind, ResponseRef};

fn record(kind: RecordKind, state: &Value) -> Value {
    let mut record = json!({
        "v": 1, "kind": kind.as_str(), "id": "r", "text": "hm", "author": "assistant",
        "createdAt": "1970-01-01T00:00:00Z", "updatedAt": "1970-01-01T00:00:00Z",
        "tool": "t", "args": { "text": "{}" }, "checksum": "0".repeat(64),
        "trusted": false, "inline": true, "fromArtifactTool": false,
    });
    record["providerState"] = state.clone();
    record
}

fn read(record: &Record) -> (Option<&ResponseRef>, &ProviderState) {
    let state = match record {
        Record::Message(message) => message.provider_state(),
        Record::Thought(thought) => thought.provider_state(),
        Record::ToolCall(call) => call.provider_state(),
        _ => None,
    };
    (record.response(), state.unwrap())
}

fn earlier(state: &Value) -> Value {
    json!({ "protocol": "chat_completions", "text": state.to_string() })
}

#[test]
fn response_and_address_of_an_earlier_state_are_read_as_fields() {
    let fields = json!({ "reasoning_field": "reasoning", "z": 1.0, "a": [u64::MAX] });
    let complete =
        json!({ "response": "r-1", "from": "http://here/", "cut": "it broke", "fields": fields });
    let plain = json!({ "response": "r-2", "from": "http://here/" });
    let cases = [
        (complete, "r-1", Some("it broke"), fields.to_string()),
        (plain, "r-2", None, "{}".to_owned()),
    ];
    for (state, id, cut, bytes) in cases {
        for kind in [
            RecordKind::Message,
            RecordKind::Thought,
            RecordKind::ToolCall,
        ] {
            let stored = record(kind, &earlier(&state));
            let loaded = Record::from_value(kind, &stored, &resolver()).unwrap();
            // What is written afterwards has the fields.
            for record in [&loaded, &again(&loaded, &resolver()).unwrap()] {
                let (response, state) = read(record);
                let response = response.unwrap();
                assert_eq!((response.id(), response.why_cut()), (id, cut));
                let read = state.for_server("chat_completions", "http://here/");
                assert_eq!(read.unwrap(), bytes.as_bytes());
            }
        }
    }
}

#[test]
fn any_other_state_is_read_unchanged() {
    let whole = json!({ "response": "r", "from": "here" });
    for state in [
        json!({ "protocol": "other", "text": whole.to_string() }),
        json!({ "protocol": "chat_completions", "address": "there", "text": whole.to_string() }),
        earlier(&json!({ "response": "", "from": "here" })),
        earlier(&json!({ "response": "r" })),
        earlier(&json!({ "response": "r", "from": "here", "fields": [] })),
        earlier(&json!("r")),
        json!({ "protocol": "chat_completions", "text": "{" }),
        json!({ "protocol": "chat_completions", "base64": "/w==" }),
    ] {
        let stored = record(RecordKind::Thought, &state);
        let loaded = Record::from_value(RecordKind::Thought, &stored, &resolver()).unwrap();
        assert_eq!(read(&loaded).0, None, "{state}");
        let written = loaded.to_value().unwrap();
        assert_eq!(written["providerState"], state);
    }
    let mut stored = record(RecordKind::Thought, &earlier(&whole));
    stored["responseId"] = "r-1".into();
    let loaded = Record::from_value(RecordKind::Thought, &stored, &resolver()).unwrap();
    assert_eq!(read(&loaded).0.map(ResponseRef::id), Some("r-1"));
    assert_eq!(loaded.to_value().unwrap()["providerState"], earlier(&whole));
}

#[test]
fn a_reason_without_a_response_id_is_an_error() {
    let mut stored = record(RecordKind::Thought, &earlier(&json!({})));
    stored["responseCut"] = "it broke".into();
    let read = |stored: &Value| Record::from_value(RecordKind::Thought, stored, &resolver());
    let error = read(&stored).unwrap_err();
    assert!(error.message().contains("responseId"), "{error}");
    stored["responseId"] = "".into();
    let error = read(&stored).unwrap_err();
    assert!(error.message().contains("response"), "{error}");
}
