//! Conversations that are accepted, and each way in which they are not.

mod anthropic;
mod chat_completions;
mod conversation;
mod gemini;
mod ollama;
mod recordings;
mod responses;

use serde_json::{Value, json};

use self::conversation::{Conversation, look, now};
use crate::server::model::protocol::Protocol;
use crate::server::model::{AnswerKind, Player, Script, calls, reasoning, text};

fn script() -> Script {
    Script::new([
        reasoning("I should look.")
            .with_call(look())
            .with_call(now()),
        calls([("again", "look", r#"{"at":"disk"}"#)]),
        text("It was the disk.", 3).with_reasoning("So it was."),
        text("You are welcome.", 2),
    ])
}

/// Returns a conversation whose last request has the results of two exchanges.
fn open_exchange(protocol: Protocol, streamed: bool) -> (Conversation, Player) {
    let player = script().player().strict().name("here");
    let mut conversation = Conversation::new(protocol, streamed);
    conversation.ask("What was it?");
    for _ in 0..2 {
        conversation.play(&player).unwrap();
        conversation.give_results();
    }
    (conversation, player)
}

/// A change to the body of a request.
type Change = fn(&mut Value);

/// Asserts that each change to a valid request is rejected with this message.
fn assert_rejected(protocol: Protocol, changes: &[(&str, Change)]) {
    for streamed in [true, false] {
        for (message, change) in changes {
            let (mut conversation, player) = open_exchange(protocol, streamed);
            conversation.check(&player).unwrap();
            change(&mut conversation.body);
            let problem = conversation.check(&player).expect_err(message);
            assert!(problem.contains(message), "{message}: {problem}");
        }
    }
}

#[test]
fn conversation_is_accepted_in_each_protocol() {
    for &protocol in Protocol::ALL {
        for streamed in [true, false] {
            let (mut conversation, player) = open_exchange(protocol, streamed);
            conversation
                .play(&player)
                .unwrap_or_else(|why| panic!("{protocol}: {why}"));
            conversation.ask("Thank you!");
            conversation
                .play(&player)
                .unwrap_or_else(|why| panic!("{protocol}: {why}"));
            assert_eq!(player.remaining(), 0, "{protocol}");
        }
    }
}

#[test]
fn opaque_state_of_another_server_is_rejected() {
    for protocol in [Protocol::Responses, Protocol::Anthropic, Protocol::Gemini] {
        let (conversation, _) = open_exchange(protocol, true);
        let elsewhere = script().player().name("elsewhere");
        let problem = conversation.check(&elsewhere).unwrap_err();
        assert!(
            problem.contains("not issued by this server"),
            "{protocol}: {problem}"
        );
    }
    for protocol in [Protocol::ChatCompletions, Protocol::Ollama] {
        let (conversation, _) = open_exchange(protocol, true);
        let elsewhere = script().player().strict().name("elsewhere");
        conversation.check(&elsewhere).unwrap();
    }
}

#[test]
fn rejected_requests_take_no_reply_and_are_answered_in_the_form_of_the_protocol() {
    let shapes = [
        (
            Protocol::ChatCompletions,
            "/error/type",
            json!("invalid_request_error"),
        ),
        (
            Protocol::Responses,
            "/error/type",
            json!("invalid_request_error"),
        ),
        (
            Protocol::Anthropic,
            "/error/type",
            json!("invalid_request_error"),
        ),
        (Protocol::Anthropic, "/type", json!("error")),
        (Protocol::Gemini, "/error/status", json!("INVALID_ARGUMENT")),
        (Protocol::Gemini, "/error/code", json!(400)),
    ];
    for (protocol, pointer, expected) in shapes {
        let player = script().player().strict();
        let mut conversation = Conversation::new(protocol, true);
        conversation.body["no_such_field"] = json!(1);
        conversation.body["messages"] = json!([]);
        let played = player.answer(&conversation.request());
        assert_eq!(
            (played.kind, played.protocol),
            (AnswerKind::Invalid, Some(protocol))
        );
        assert_eq!(played.answer.status, 400);
        let body = conversation::body_of(&played.answer);
        assert_eq!(body.pointer(pointer), Some(&expected), "{protocol}: {body}");
        assert_eq!(player.remaining(), 4);
    }
    let player = script().player();
    let mut conversation = Conversation::new(Protocol::Ollama, true);
    conversation.body.as_object_mut().unwrap().remove("stream");
    let played = player.answer(&conversation.request());
    let body = conversation::body_of(&played.answer);
    assert!(
        body["error"].as_str().unwrap().contains("stream:"),
        "{body}"
    );
}

#[test]
fn lenient_player_checks_nothing_and_chat_completions_is_lenient_by_default() {
    let mut conversation = Conversation::new(Protocol::Anthropic, false);
    conversation.body = json!({});
    conversation.check(&script().player().lenient()).unwrap();
    let mut conversation = Conversation::new(Protocol::ChatCompletions, false);
    conversation.body = json!({});
    conversation.check(&script().player()).unwrap();
    conversation.check(&script().player().strict()).unwrap_err();
}

#[test]
fn player_can_be_restricted_to_one_protocol() {
    for &only in Protocol::ALL {
        for &protocol in Protocol::ALL {
            let player = script().player().protocol(only);
            let mut conversation = Conversation::new(protocol, true);
            conversation.ask("Hello?");
            let played = player.answer(&conversation.request());
            let (status, left) = if only == protocol { (200, 3) } else { (404, 4) };
            assert_eq!(
                (played.answer.status, player.remaining()),
                (status, left),
                "{only} {protocol}"
            );
        }
    }
}
