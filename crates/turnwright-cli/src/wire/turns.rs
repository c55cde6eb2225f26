//! The turns of a recording: which exchanges belong together, and how each turn ended.

use std::sync::Arc;

use serde_json::Value;
use turnwright::models::Protocol;
use turnwright::models::decode::Reply;
use turnwright_testkit::cassette::Exchange;

use super::messages::{answers, messages, role};
use super::tools::Answers;

/// A recorded turn.
pub(super) struct RecordedTurn {
    /// Its requests and responses; at least one.
    pub(super) exchanges: Vec<Exchange>,
    /// The results of its calls.
    pub(super) answers: Arc<Answers>,
    /// Its last response.
    pub(super) last: RecordedResponse,
}

/// The content of a response.
pub(super) enum RecordedResponse {
    Reply(Box<Reply>),
    /// An error of the server.
    Status(u16),
    /// An incomplete reply.
    Broken,
    /// Not of this protocol.
    Foreign,
}

impl RecordedResponse {
    pub(super) fn of(exchange: &Exchange) -> Self {
        if !(200..300).contains(&exchange.status) {
            return RecordedResponse::Status(exchange.status);
        }
        let content_type = exchange.header("content-type");
        match Protocol::ChatCompletions.decode(content_type, &exchange.body) {
            Ok(reply) if exchange.truncated && !reply.is_complete() => RecordedResponse::Broken,
            Ok(reply) => RecordedResponse::Reply(Box::new(reply)),
            Err(_) if exchange.truncated => RecordedResponse::Broken,
            Err(_) => RecordedResponse::Foreign,
        }
    }

    /// Whether it calls tools, so that the turn continues with their results.
    fn calls_tools(&self) -> bool {
        matches!(self, RecordedResponse::Reply(reply) if reply.is_complete() && !reply.tool_calls.is_empty())
    }
}

/// A request continues the turn of the one before it if it contains the results of that one's calls. Any other request starts a
/// turn.
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
    /// If this is its next request: the new messages, from the results of the last calls on.
    fn continued_by<'e>(&self, exchange: &'e Exchange) -> Option<&'e [Value]> {
        let before = self.exchanges.last().filter(|_| self.last.calls_tools())?;
        let new = messages(&exchange.request).strip_prefix(messages(&before.request))?;
        let answers = new.iter().position(|item| role(item) == "tool")?;
        new.get(answers..)
    }
}
