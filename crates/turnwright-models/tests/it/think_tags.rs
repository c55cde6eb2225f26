//! Reasoning that a model puts into its text, between `<think>` and `</think>`.

use serde_json::json;
use turnwright_core::{EventKind, TurnOutcome};
use turnwright_models::ChatCompletions;

use crate::script::{Answer, Script};

/// Returns a stream of text in these pieces.
fn streamed(pieces: &[&str]) -> Answer {
    let mut choices: Vec<_> = pieces
        .iter()
        .map(|piece| json!({ "delta": { "content": piece } }))
        .collect();
    choices.push(json!({ "delta": {}, "finish_reason": "stop" }));
    Answer::Stream(choices)
}

/// Runs a turn. Returns the text and the reasoning that its events showed last, and its outcome.
async fn run(model: ChatCompletions) -> (String, String, TurnOutcome) {
    let runner = turnwright_core::runner(model).build().unwrap();
    let (handle, mut stream) = runner.start("Is it?").split();
    let (mut text, mut reasoning) = (String::new(), String::new());
    while let Some(event) = stream.next().await {
        match event.kind {
            EventKind::MessageDelta(delta) => text.push_str(&delta.text),
            EventKind::ThoughtDelta(delta) => reasoning.push_str(&delta.text),
            EventKind::Discarded { .. } => text.clear(),
            _ => {}
        }
    }
    (text, reasoning, handle.outcome().await)
}

fn thoughts(outcome: &TurnOutcome) -> Vec<&str> {
    outcome.thoughts().map(|thought| thought.text()).collect()
}

const TAGGED: [&str; 4] = ["<thi", "nk>Let me", " see.</th", "ink>\n\nYes."];

#[tokio::test]
async fn tags_are_text_unless_the_option_is_set() {
    let model = Script::new([streamed(&TAGGED)]).model();
    let (text, reasoning, outcome) = run(model).await;
    assert_eq!(text, TAGGED.concat());
    assert_eq!(reasoning, "");
    assert_eq!(outcome.text, TAGGED.concat());
    assert!(thoughts(&outcome).is_empty());
}

#[tokio::test]
async fn text_in_tags_is_a_thought_if_the_option_is_set() {
    let script = Script::new([streamed(&TAGGED)]);
    let model = script.builder().think_tags(true).build().unwrap();
    let (text, reasoning, outcome) = run(model).await;
    assert_eq!((&*text, &*reasoning), ("Yes.", "Let me see."));
    assert_eq!(outcome.text, "Yes.");
    assert_eq!(thoughts(&outcome), ["Let me see."]);
}

/// Some chat templates open the tag in the prompt.
#[tokio::test]
async fn text_before_a_closing_tag_is_a_thought_after_all() {
    let script = Script::new([streamed(&["Let me", " see.</think>", "Yes."])]);
    let model = script.builder().think_tags(true).build().unwrap();
    let (text, _, outcome) = run(model).await;
    assert_eq!(text, "Yes.", "what was shown is retracted");
    assert_eq!(outcome.text, "Yes.");
    assert_eq!(thoughts(&outcome), ["Let me see."]);
}
