//! The turns of a recording: which responses belong together, and how each turn ended.

use std::sync::Arc;

use serde_json::Value;
use turnwright::models::chat_completions::decode::{Reply, decode};
use turnwright_testkit::cassette::Exchange;

use super::messages::{answers, messages, role};
use super::tools::Answers;

/// A turn as it was recorded.
pub(super) struct RecordedTurn {
    /// Its requests and responses; at least one.
    pub(super) exchanges: Vec<Exchange>,
    /// What its tools answered.
    pub(super) answers: Arc<Answers>,
    /// What its last response says.
    pub(super) last: RecordedResponse,
}

/// What a response says.
pub(super) enum RecordedResponse {
    Reply(Box<Reply>),
    /// An error of the server's.
    Status(u16),
    /// A reply that ends in the middle, since the recording does.
    Broken,
    /// Nothing of this protocol.
    Foreign,
}

impl RecordedResponse {
    pub(super) fn of(exchange: &Exchange) -> Self {
        if !(200..300).contains(&exchange.status) {
            return RecordedResponse::Status(exchange.status);
        }
        match decode(exchange.header("content-type"), &exchange.body) {
            Ok(reply) if exchange.truncated && !reply.is_complete() => RecordedResponse::Broken,
            Ok(reply) => RecordedResponse::Reply(Box::new(reply)),
            Err(_) if exchange.truncated => RecordedResponse::Broken,
            Err(_) => RecordedResponse::Foreign,
        }
    }

    /// Whether tools are called by it, and the model is asked again once they answered.
    fn calls_tools(&self) -> bool {
        matches!(self, RecordedResponse::Reply(reply) if reply.is_complete() && !reply.tool_calls.is_empty())
    }
}

/// A request goes on with the turn of the one before it if it says what came of that one's calls. Any other is a turn of its
/// own: somebody speaks again, or it has nothing to do with what came before.
pub(super) fn turns(exchanges: impl IntoIterator<Item = Exchange>) -> Vec<RecordedTurn> {
    let mut turns: Vec<RecordedTurn> = Vec::new();
    for exchange in exchanges {
        let response = RecordedResponse::of(&exchange);
        if let Some(turn) = turns.last_mut()
            && let Some(new) = turn.continued_by(&exchange)
        {
            for (id, answer) in answers(new) {
                turn.answers.add(id, answer);
            }
            turn.exchanges.push(exchange);
            turn.last = response;
            continue;
        }
        turns.push(RecordedTurn {
            exchanges: vec![exchange],
            answers: Arc::default(),
            last: response,
        });
    }
    turns
}

impl RecordedTurn {
    /// Where this is its next request: the messages from what came of the last calls on.
    fn continued_by<'e>(&self, exchange: &'e Exchange) -> Option<&'e [Value]> {
        let before = self.exchanges.last().filter(|_| self.last.calls_tools())?;
        let new = messages(&exchange.request).strip_prefix(messages(&before.request))?;
        let answers = new.iter().position(|item| role(item) == "tool")?;
        new.get(answers..)
    }
}
