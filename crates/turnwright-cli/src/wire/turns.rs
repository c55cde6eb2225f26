//! The turns of a recording: which exchanges belong together, and how each turn ended.

use std::sync::Arc;

use turnwright::models::Protocol;
use turnwright::models::decode::Reply;
use turnwright_testkit::cassette::Exchange;

use super::request::{Entry, RecordedRequest};
use super::tools::Answers;

/// A recorded turn.
pub(super) struct RecordedTurn {
    pub(super) protocol: Protocol,
    /// Its requests and responses; at least one.
    pub(super) exchanges: Vec<Exchange>,
    /// Its first request.
    pub(super) first: RecordedRequest,
    /// The results of its calls.
    pub(super) answers: Arc<Answers>,
    /// Its last response.
    pub(super) last: RecordedResponse,
    /// The messages of its last request.
    entries: Vec<Entry>,
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
    pub(super) fn of(protocol: Protocol, exchange: &Exchange) -> Self {
        if !(200..300).contains(&exchange.status) {
            return RecordedResponse::Status(exchange.status);
        }
        let content_type = exchange.header("content-type");
        match protocol.decode(content_type, &exchange.body) {
            Ok(reply) if exchange.truncated && !reply.is_complete() => RecordedResponse::Broken,
            Ok(reply) => RecordedResponse::Reply(Box::new(reply)),
            Err(_) if exchange.truncated => RecordedResponse::Broken,
            Err(_) => RecordedResponse::Foreign,
        }
    }

    /// The reply, if it calls tools, so that the turn continues with their results.
    fn with_calls(&self) -> Option<&Reply> {
        match self {
            RecordedResponse::Reply(reply) => {
                Some(&**reply).filter(|reply| reply.is_complete() && !reply.tool_calls.is_empty())
            }
            _ => None,
        }
    }
}

/// A request continues the turn of the one before it if it contains the results of that one's calls. Any other request
/// starts a turn.
pub(super) fn turns(
    exchanges: impl IntoIterator<Item = (Protocol, Exchange)>,
) -> Vec<RecordedTurn> {
    let mut turns: Vec<RecordedTurn> = Vec::new();
    for (protocol, exchange) in exchanges {
        let request = RecordedRequest::of(protocol, &exchange);
        let response = RecordedResponse::of(protocol, &exchange);
        if let Some(turn) = turns.last_mut()
            && turn.protocol == protocol
            && turn.is_continued_by(&request)
        {
            turn.exchanges.push(exchange);
            turn.entries = request.entries;
            turn.last = response;
            continue;
        }
        turns.push(RecordedTurn {
            protocol,
            exchanges: vec![exchange],
            entries: request.entries.clone(),
            first: request,
            answers: Arc::default(),
            last: response,
        });
    }
    turns
}

impl RecordedTurn {
    /// Whether this is its next request. Stores the results of the last calls.
    fn is_continued_by(&self, request: &RecordedRequest) -> bool {
        let Some(reply) = self.last.with_calls() else {
            return false;
        };
        let previous = request.previous_response.as_ref();
        let new = match previous {
            // Only what is new is sent.
            Some(id) if reply.id.as_ref() == Some(id) => Some(request.entries.as_slice()),
            _ => request.entries.strip_prefix(self.entries.as_slice()),
        };
        let results = new.into_iter().flatten().find_map(|entry| match entry {
            Entry::Results(results) => Some(results),
            _ => None,
        });
        if let Some(results) = results {
            self.answers.add(&reply.tool_calls, results);
        }
        results.is_some()
    }
}
