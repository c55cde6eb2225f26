//! Chat Completions. The records are created in two ways: by running the conversation, and by hand, without any state
//! of ours, like a conversation from elsewhere.

mod differences;
mod rebuild;

use serde_json::{Value, json};
use turnwright_models::chat_completions::{ChatCompletionsCodec, Options};
use turnwright_models::{ChatCompletions, ModelBuilder, Protocol};

use super::comparison::Comparison;
use super::turns::{self, ANSWER, Caught, UNUSED_URL};
use crate::wire::recorded;
use differences::DIFFERENCES;
use rebuild::Request;

/// How the records of a conversation were created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    /// By hand, without our own state.
    ByHand,
    /// By running turns.
    Played,
}

#[tokio::test]
async fn recorded_requests_are_reproduced_from_handmade_records() {
    compare(Records::ByHand).await;
}

#[tokio::test]
async fn recorded_requests_are_reproduced_from_turn_records() {
    compare(Records::Played).await;
}

/// Sends every recorded request and compares it.
async fn compare(records: Records) {
    let Some(recorded) = recorded(Protocol::ChatCompletions) else {
        return;
    };
    let applies = DIFFERENCES
        .iter()
        .filter(|item| records == Records::ByHand || !item.by_hand_alone);
    let title = format!("chat completions, records {records:?}");
    let mut comparison = Comparison::new(title, applies);
    for exchange in &recorded {
        let request = Request::read(&exchange.request);
        let history = match records {
            Records::ByHand => request.records_by_hand(),
            Records::Played => {
                let options = || Options::new().model("any").stream(false);
                let model = |caught| builder(&caught).options(options()).build().unwrap();
                turns::play(&request.steps(), model).await
            }
        };
        let caught = Caught::answering(response(&json!({ "content": ANSWER })));
        let model = builder(&caught)
            .options(request.options)
            .settings(request.settings)
            .max_completion_tokens(request.max_completion_tokens)
            .build()
            .unwrap();
        let sent = turns::send(model, &caught, &request.system, request.tools, history).await;
        comparison.add(&exchange.name(), &exchange.request, sent.unwrap());
    }
    comparison.finish();
}

fn builder(caught: &Caught) -> ModelBuilder<ChatCompletionsCodec> {
    ChatCompletions::builder(UNUSED_URL)
        .transport(caught.clone())
        .explain_envelopes(false)
        .accepted_media(|_| true)
}

/// Returns a response with this message.
fn response(message: &Value) -> String {
    let reason = if message["tool_calls"].is_null() {
        "stop"
    } else {
        "tool_calls"
    };
    json!({ "choices": [{ "message": message, "finish_reason": reason }] }).to_string()
}
