//! Keeps the results of requests as the server sent them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, NumberOrString, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use serde_json::{Map, Value, json};

use super::depth::without_deep_values;
use crate::limits::Limits;

/// The methods whose results are kept. The others (`initialize`, `server/discover`, …) are part of the lifecycle, which is left to
/// `rmcp`.
const KEPT: &[&str] = &[
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
];

/// How many requests of a server may be without an answer. A server that sends more does not read the answers.
const MAX_UNANSWERED: usize = 256;

/// The annotation from which `rmcp` derives an HTTP header.
const HEADER: &str = "x-mcp-header";

/// Maximum number of these annotations in a definition. `rmcp` builds the path of each, which may be as long as the definition.
const MAX_HEADERS: usize = 100;

/// The results of requests in flight. A handle: clones share the content.
#[derive(Clone, Debug)]
pub(super) struct RawResults {
    state: Arc<Mutex<State>>,
    /// Maximum number of tools. `rmcp` does not get more.
    most_tools: usize,
}

#[derive(Debug, Default)]
struct State {
    expected: HashMap<RequestId, Expected>,
    /// The request that asks for the lifecycle without sessions.
    discover: Option<RequestId>,
    /// That request, after it was given up. A slow server may still answer it.
    given_up: Option<RequestId>,
    /// How many requests of the server have no answer yet.
    unanswered: usize,
}

#[derive(Debug)]
struct Expected {
    is_tool_list: bool,
    outcome: Option<Outcome>,
}

/// What became of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    Result(Value),
    /// The server has not processed it, for this reason. It counts even if the connection ends before `rmcp` reports it.
    NotSent(String),
}

impl RawResults {
    pub(super) fn new(limits: &Limits) -> Self {
        RawResults {
            state: Arc::default(),
            most_tools: limits.tools,
        }
    }

    /// Notes that this request is about to be sent.
    pub(super) fn expect(&self, message: &ClientJsonRpcMessage) {
        let ClientJsonRpcMessage::Request(request) = message else {
            return;
        };
        let method = request.request.method();
        let mut state = self.state.lock();
        match method {
            "server/discover" => state.discover = Some(request.id.clone()),
            "initialize" => state.given_up = state.discover.take(),
            _ => {}
        }
        if KEPT.contains(&method) {
            let expected = Expected {
                is_tool_list: method == "tools/list",
                outcome: None,
            };
            state.expected.insert(request.id.clone(), expected);
        }
    }

    /// Takes what became of a request.
    pub(super) fn take(&self, id: &RequestId) -> Option<Outcome> {
        self.state.lock().expected.remove(id)?.outcome
    }

    /// Notes that the server has not processed this message, if it is a request.
    pub(super) fn not_sent(&self, message: &ClientJsonRpcMessage, why: &str) {
        if let ClientJsonRpcMessage::Request(request) = message
            && let Some(expected) = self.state.lock().expected.get_mut(&request.id)
        {
            expected.outcome = Some(Outcome::NotSent(why.to_owned()));
        }
    }

    /// Returns how many results are expected or kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.state.lock().expected.len()
    }

    /// Reads a message of the server. The result of a request is kept here, and `rmcp` gets a stand-in.
    ///
    /// # Errors
    /// The message is not a JSON-RPC message. If it answers a request, that request fails.
    pub(super) fn read(&self, text: &[u8]) -> Result<ServerJsonRpcMessage, Unreadable> {
        let unreadable = |why: String, answers: Option<RequestId>| Unreadable { why, answers };
        let mut message = match self.parse(text) {
            Ok(Value::Object(message)) => message,
            Ok(_) => return Err(unreadable("it is not an object".to_owned(), None)),
            Err(error) => {
                let why = format!("it is not JSON: {error}");
                return Err(unreadable(why, self.answered_by(text, text)));
            }
        };
        let answers = {
            let mut state = self.state.lock();
            let id = message.get("id").filter(|id| !id.is_null());
            if message.contains_key("method") {
                state.unanswered += usize::from(id.is_some());
                None
            } else {
                let id = id.and_then(request_id);
                if id.is_some() && id == state.given_up {
                    return Err(unreadable("it comes too late".to_owned(), None));
                }
                id.filter(|id| state.expected.contains_key(id))
            }
        };
        match &answers {
            Some(id) if is_success(&message) => {
                let result = message.get_mut("result").map(Value::take);
                Ok(self.keep(id, result.unwrap_or_default()))
            }
            _ => serde_json::from_value(Value::Object(message))
                .map_err(|error| unreadable(error.to_string(), answers)),
        }
    }

    /// Parses a message. Of a list of tools, values that are nested too deeply are left out: one definition must not lose the others.
    fn parse(&self, text: &[u8]) -> serde_json::Result<Value> {
        let parsed = serde_json::from_slice(text);
        let is_tool_list = || {
            let id = id_in(text, text)?;
            Some(self.state.lock().expected.get(&id)?.is_tool_list)
        };
        match parsed {
            Err(_) if is_tool_list() == Some(true) => match without_deep_values(text) {
                Some(kept) => serde_json::from_slice(&kept),
                None => parsed,
            },
            parsed => parsed,
        }
    }

    /// Notes that an answer to a request of the server was sent.
    pub(super) fn response_sent(&self) {
        let mut state = self.state.lock();
        state.unanswered = state.unanswered.saturating_sub(1);
    }

    /// Returns what is wrong if the server sends more requests than it reads answers.
    pub(super) fn flooded(&self) -> Option<String> {
        let is_flooded = self.state.lock().unanswered > MAX_UNANSWERED;
        is_flooded.then(|| {
            format!("the server sent {MAX_UNANSWERED} requests without reading the answers")
        })
    }

    /// Keeps the result of a request, and returns what `rmcp` gets instead. Only the first result counts.
    fn keep(&self, id: &RequestId, result: Value) -> ServerJsonRpcMessage {
        let mut stand_in = ServerResult::empty(());
        if let Some(expected) = self.state.lock().expected.get_mut(id) {
            if expected.is_tool_list
                && let Some(headers) = headers_of(&result, self.most_tools)
                && let Ok(list) = serde_json::from_value(headers)
            {
                stand_in = ServerResult::ListToolsResult(list);
            }
            expected.outcome.get_or_insert(Outcome::Result(result));
        }
        ServerJsonRpcMessage::response(stand_in, id.clone())
    }

    /// Returns the id of the request that a message answers whose middle was dropped.
    pub(super) fn answered_by(&self, head: &[u8], tail: &[u8]) -> Option<RequestId> {
        id_in(head, tail).filter(|id| self.state.lock().expected.contains_key(id))
    }
}

/// Returns whether a message answers a request of the server.
pub(super) fn is_response(message: &ClientJsonRpcMessage) -> bool {
    matches!(
        message,
        ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_)
    )
}

/// A message that cannot be read.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) why: String,
    /// The request that it answers, if that is known.
    pub(super) answers: Option<RequestId>,
}

impl Unreadable {
    /// Returns the error for the request that the message answers.
    pub(super) fn into_error(self) -> Option<ServerJsonRpcMessage> {
        let error = ErrorData::new(
            UNREADABLE,
            format!("the answer is unreadable: {}", self.why),
            None,
        );
        Some(ServerJsonRpcMessage::error(error, Some(self.answers?)))
    }
}

/// The code of errors that the transport creates for answers that it cannot read. No server uses it: it is outside of the range of
/// JSON-RPC.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(1);

/// Returns whether an answer has a result, and nothing that contradicts it.
fn is_success(message: &Map<String, Value>) -> bool {
    let version = message.get("jsonrpc").and_then(Value::as_str);
    version == Some("2.0") && message.contains_key("result") && !message.contains_key("error")
}

/// What `rmcp` needs of a list of tools: names, and the schemas from which it derives HTTP headers. Tools that it could not read are
/// left out. `None` if there are more tools than allowed.
fn headers_of(list: &Value, most_tools: usize) -> Option<Value> {
    let tools = list.get("tools")?.as_array()?;
    if tools.len() > most_tools {
        return None;
    }
    let tools = tools.iter().filter_map(|tool| {
        let name = tool.get("name")?.as_str()?;
        let schema = tool.get("inputSchema").filter(|it| it.is_object())?;
        match count_headers(schema) {
            0 => Some(json!({ "name": name, "inputSchema": {} })),
            1..=MAX_HEADERS => Some(json!({ "name": name, "inputSchema": schema })),
            _ => None,
        }
    });
    Some(json!({ "tools": tools.collect::<Vec<_>>() }))
}

fn count_headers(schema: &Value) -> usize {
    let (mut open, mut count) = (vec![schema], 0);
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                count += usize::from(fields.contains_key(HEADER));
                open.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    count
}

fn request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::Number(number) => number.as_i64().map(NumberOrString::Number),
        // Some servers return numbers as text.
        Value::String(text) => text.parse().ok().map(NumberOrString::Number),
        _ => None,
    }
}

/// Finds the id of a message by its first or last bytes: `{"jsonrpc":"2.0","id":7,…` or `…,"id":7}`.
fn id_in(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    let compact = |bytes: &[u8]| {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        text.retain(|ch| !ch.is_whitespace());
        text
    };
    let (head, tail) = (compact(head), compact(tail));
    let from_head = head
        .strip_prefix("{\"jsonrpc\":\"2.0\",")
        .or_else(|| head.strip_prefix('{'))
        .and_then(|rest| rest.strip_prefix("\"id\":"))
        .and_then(digits);
    let from_tail = || {
        let rest = tail.strip_suffix('}')?;
        let rest = rest.strip_suffix(",\"jsonrpc\":\"2.0\"").unwrap_or(rest);
        let (_, id) = rest.rsplit_once("\"id\":")?;
        digits(id).filter(|_| id.bytes().all(|byte| byte.is_ascii_digit()))
    };
    from_head.or_else(from_tail).map(NumberOrString::Number)
}

fn digits(text: &str) -> Option<i64> {
    let end = text
        .find(|ch: char| !ch.is_ascii_digit())
        .unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}
