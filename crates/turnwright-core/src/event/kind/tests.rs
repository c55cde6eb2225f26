use serde_json::json;

use super::*;
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::record::{ProviderState, ToolResults};

#[test]
fn events_serialise_to_json() {
    let delta = |text: &str| Delta::new("m".into(), 3, text);
    let written = |event: EventKind| serde_json::to_value(event).unwrap();
    assert_eq!(
        written(EventKind::MessageDelta(delta("lo"))),
        json!({ "event": "messageDelta", "id": "m", "offset": 3, "text": "lo" })
    );
    let tool = "look".into();
    assert_eq!(
        written(EventKind::ToolCallDelta {
            tool,
            delta: delta("{")
        }),
        json!({ "event": "toolCallDelta", "id": "m", "offset": 3, "text": "{", "tool": "look" })
    );
    let message = Message::assistant("Hello").id("m").build().unwrap();
    let event = written(EventKind::Message(message));
    assert_eq!(
        (&event["event"], &event["record"]["text"]),
        (&json!("message"), &json!("Hello"))
    );
    let call = ToolCall::builder("look", "{").cut_off(true).build();
    let event = written(EventKind::ToolCallIncomplete(call.unwrap()));
    assert_eq!(
        (&event["event"], &event["record"]["tool"]),
        (&json!("toolCallIncomplete"), &json!("look"))
    );
    assert_eq!(
        written(EventKind::Discarded { id: "m".into() }),
        json!({ "event": "discarded", "id": "m" })
    );
}

#[test]
fn an_event_shows_an_inline_result_and_describes_one_behind_a_handle() {
    let event = |content: String, inline: bool| {
        let artifact = SpooledArtifact::in_memory(content, ArtifactKind::TEXT);
        let call = ToolCall::builder("look", "{}")
            .results(ToolResults::Artifacts(vec![artifact]))
            .inline(inline)
            .build();
        let event = EventKind::ToolCall(call.unwrap());
        serde_json::to_value(event).unwrap()["record"]["results"].clone()
    };
    let described = json!({ "artifacts": [{ "kind": "text", "bytes": 3_000_000 }] });
    assert_eq!(event("x".repeat(3_000_000), false), described);
    let shown = event("short".to_owned(), true);
    assert_eq!(shown["artifacts"][0]["text"], "short");
}

#[test]
fn the_state_of_the_provider_is_not_sent_on() {
    let state = ProviderState::new("p", "http://127.0.0.1/v1", "{}");
    let message = Message::assistant("Hello").provider_state(state).build();
    let event = serde_json::to_string(&EventKind::Message(message.unwrap())).unwrap();
    assert!(
        event.contains("Hello") && !event.contains("127.0.0.1"),
        "{event}"
    );
}
