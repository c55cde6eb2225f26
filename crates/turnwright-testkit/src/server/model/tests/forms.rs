//! The forms of each protocol that [`said`] does not show.

use serde_json::{Value, json};

use super::read::{said, whole};
use crate::server::model::{Asked, Call, Protocol, Reply, calls, reasoning, text};

fn asked(protocol: Protocol, streamed: bool) -> Asked {
    let mut asked = Asked::streamed(protocol);
    asked.streamed = streamed;
    asked
}

/// Returns the finished object, streamed and not.
fn both(protocol: Protocol, reply: &Reply) -> [Value; 2] {
    [true, false].map(|streamed| whole(reply, &asked(protocol, streamed)))
}

#[test]
fn finish_reasons_are_the_words_of_each_protocol() {
    use Protocol::{Anthropic, ChatCompletions, Gemini, Ollama, Responses};
    let words = [
        ("stop", ChatCompletions, "stop"),
        ("stop", Responses, "completed"),
        ("stop", Anthropic, "end_turn"),
        ("stop", Gemini, "STOP"),
        ("stop", Ollama, "stop"),
        ("tool_calls", ChatCompletions, "tool_calls"),
        ("tool_calls", Responses, "completed"),
        ("tool_calls", Anthropic, "tool_use"),
        ("tool_calls", Gemini, "STOP"),
        ("tool_calls", Ollama, "stop"),
        ("length", ChatCompletions, "length"),
        ("length", Responses, "incomplete max_output_tokens"),
        ("length", Anthropic, "max_tokens"),
        ("length", Gemini, "MAX_TOKENS"),
        ("length", Ollama, "length"),
        ("content_filter", ChatCompletions, "content_filter"),
        ("content_filter", Responses, "incomplete content_filter"),
        ("content_filter", Anthropic, "refusal"),
        ("content_filter", Gemini, "SAFETY"),
        ("failed", Responses, "failed"),
        ("pause_turn", Anthropic, "pause_turn"),
        ("MALFORMED_FUNCTION_CALL", Gemini, "MALFORMED_FUNCTION_CALL"),
        ("load", Ollama, "load"),
    ];
    for (reason, protocol, word) in words {
        for streamed in [true, false] {
            let reply = text("Hi", 1).finish(reason);
            let said = said(&reply, &asked(protocol, streamed));
            assert_eq!(
                (said.finish.as_str(), said.text.as_str()),
                (word, "Hi"),
                "{protocol}"
            );
        }
    }
}

#[test]
fn refusals_are_told_from_answers() {
    let reply = Reply::default().with_refusal("I cannot help with that.");
    let pointers = [
        (
            Protocol::ChatCompletions,
            "/choices/0/message/refusal",
            "I cannot help with that.",
        ),
        (
            Protocol::Responses,
            "/output/0/content/0/refusal",
            "I cannot help with that.",
        ),
        (Protocol::Anthropic, "/stop_reason", "refusal"),
        (Protocol::Gemini, "/candidates/0/finishReason", "SAFETY"),
        (
            Protocol::Gemini,
            "/candidates/0/finishMessage",
            "I cannot help with that.",
        ),
        (
            Protocol::Ollama,
            "/message/content",
            "I cannot help with that.",
        ),
    ];
    for (protocol, pointer, expected) in pointers {
        for object in both(protocol, &reply) {
            assert_eq!(
                object.pointer(pointer).and_then(Value::as_str),
                Some(expected),
                "{protocol}"
            );
        }
    }
}

#[test]
fn blocked_prompts_have_no_content() {
    for object in both(
        Protocol::Gemini,
        &Reply::default().blocked("PROHIBITED_CONTENT"),
    ) {
        assert_eq!(
            object["promptFeedback"]["blockReason"],
            "PROHIBITED_CONTENT"
        );
        assert!(object.get("candidates").is_none());
    }
    for object in both(Protocol::Anthropic, &Reply::default().blocked("SAFETY")) {
        assert_eq!(
            (&object["content"], &object["stop_reason"]),
            (&json!([]), &json!("refusal"))
        );
    }
}

#[test]
fn call_without_arguments_is_one_empty_piece_in_anthropic() {
    let reply = calls([("toolu_1", "now", "{}")]);
    let events = reply.events(&asked(Protocol::Anthropic, true));
    let deltas: Vec<_> = events
        .iter()
        .filter_map(|event| event.data.get("delta"))
        .collect();
    assert_eq!(
        deltas[0],
        &json!({ "type": "input_json_delta", "partial_json": "" })
    );
    assert_eq!(deltas.len(), 2, "the other one is of the message");
}

#[test]
fn gemini_signs_the_first_call_or_the_last_text_and_has_no_ids() {
    let two = calls([("a", "one", "{}"), ("b", "two", "{}")]);
    for object in both(Protocol::Gemini, &two) {
        let parts = object["candidates"][0]["content"]["parts"]
            .as_array()
            .unwrap();
        assert!(
            parts[0]["thoughtSignature"]
                .as_str()
                .unwrap()
                .starts_with("thought-fault-0-")
        );
        assert!(parts[1].get("thoughtSignature").is_none());
        assert!(
            parts
                .iter()
                .all(|part| part["functionCall"].get("id").is_none())
        );
    }
    for object in both(Protocol::Gemini, &two.call_ids(true)) {
        let parts = object["candidates"][0]["content"]["parts"]
            .as_array()
            .unwrap();
        assert_eq!(parts[1]["functionCall"]["id"], "b");
    }
    let [streamed, object] = both(Protocol::Gemini, &text("289", 2));
    let parts = streamed["candidates"][0]["content"]["parts"]
        .as_array()
        .unwrap();
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[2]["text"], "");
    let signature = &parts[2]["thoughtSignature"];
    assert!(signature.is_string());
    assert_eq!(
        &object["candidates"][0]["content"]["parts"][0]["thoughtSignature"],
        signature
    );
}

#[test]
fn ciphertext_of_responses_differs_at_each_moment_and_is_sent_on_request() {
    let reply = reasoning("Hm.").with_text("Yes.");
    let events = reply.events(&asked(Protocol::Responses, true));
    let of = |kind: &str, pointer: &str| {
        let mut found = events
            .iter()
            .filter(|event| event.name.as_deref() == Some(kind));
        found.find_map(|event| event.data.pointer(pointer).cloned())
    };
    let moments = [
        of("response.output_item.added", "/item/encrypted_content").unwrap(),
        of("response.output_item.done", "/item/encrypted_content").unwrap(),
        of("response.completed", "/response/output/0/encrypted_content").unwrap(),
    ];
    assert!(moments[0] != moments[1] && moments[1] != moments[2] && moments[0] != moments[2]);
    let object = whole(&reply, &asked(Protocol::Responses, false));
    assert_eq!(object["output"][0]["encrypted_content"], moments[1]);
    assert_eq!(object["output"][0]["summary"][0]["text"], "Hm.");
}

#[test]
fn raw_blocks_are_sent_by_their_protocol_alone() {
    let search = json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "sky" } });
    let found = json!({
        "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
        "content": [{ "type": "web_search_result", "url": "https://example.org", "title": "Sky", "encrypted_content": "$STATE" }],
    });
    let item = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
    let code = json!({ "executableCode": { "language": "PYTHON", "code": "print(1)" } });
    let reply = text("Blue.", 1)
        .with_block(Protocol::Anthropic, search.clone())
        .with_block(Protocol::Anthropic, found)
        .with_block(Protocol::Responses, item.clone())
        .with_block(Protocol::Gemini, code.clone());
    for object in both(Protocol::Anthropic, &reply) {
        assert_eq!(object["content"][0], search);
        let state = &object["content"][1]["content"][0]["encrypted_content"];
        assert!(
            state.as_str().unwrap().starts_with("enc-fault-0-"),
            "{state}"
        );
    }
    for object in both(Protocol::Responses, &reply) {
        assert_eq!(object["output"][0], item);
    }
    for object in both(Protocol::Gemini, &reply) {
        assert_eq!(object["candidates"][0]["content"]["parts"][0], code);
    }
    for protocol in Protocol::ALL {
        assert_eq!(said(&reply, &asked(*protocol, true)).text, "Blue.");
    }
}

#[test]
fn cut_off_arguments_stay_text() {
    let reply = Reply::default()
        .with_call(Call::new("look", "{\"a\": \"b"))
        .finish("length");
    for &protocol in Protocol::ALL {
        for streamed in [true, false] {
            let said = said(&reply, &asked(protocol, streamed));
            assert_eq!(
                said.calls,
                [("look".to_owned(), json!("{\"a\": \"b"))],
                "{protocol}"
            );
        }
    }
}
