//! One request over `rmcp`, with deadlines.

use std::collections::HashSet;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

use super::ending::Ending;
use super::handler::{Flight, Handler};
use super::raw_results::{Outcome, RawResults, UNREADABLE};
use super::{Answer, Failure, Request};

/// Sends a request and waits for its result.
pub(super) async fn send(
    peer: &Peer<RoleClient>,
    handler: &Handler,
    results: &RawResults,
    ending: &Ending,
    request: Request,
) -> Result<Answer, Failure> {
    let typed = typed(request.method, request.params)
        .map_err(|error| Failure::NotSent(error.to_string()))?;
    let sent = peer.send_cancellable_request(typed, PeerRequestOptions::no_options());
    let entered = handler.enter(sent, request.listener).await;
    let (handle, mut in_flight) =
        entered.map_err(|error| Failure::NotSent(ending.or(&error.to_string())))?;
    let id = handle.id.clone();
    let mut pending = Pending {
        handle: Some(handle),
        results,
    };
    let deadlines = Deadlines::new(request.idle, request.total);
    let answer = pending.answer(&in_flight.flight, deadlines).await;
    in_flight.answered = answer.is_ok();
    let result = match results.take(&id) {
        Some(Outcome::NotSent(why)) => return Err(Failure::NotSent(why)),
        Some(Outcome::Result(result)) => Some(result),
        None => None,
    };
    match answer? {
        Ok(typed) => {
            let no_result = || Failure::Malformed("the answer has no result".to_owned());
            let result = result.ok_or_else(no_result)?;
            let refused_tools = refused_tools(&result, &typed);
            Ok(Answer {
                result,
                refused_tools,
            })
        }
        Err(ServiceError::McpError(error)) if error.code == UNREADABLE => {
            Err(Failure::Malformed(error.message.into_owned()))
        }
        Err(ServiceError::McpError(error)) => Err(Failure::Rejected {
            code: error.code.0,
            message: error.message.into_owned(),
        }),
        Err(ServiceError::TransportSend(error)) => Err(super::http::failure_of(&error)
            .unwrap_or_else(|| Failure::NotSent(ending.or(&error.to_string())))),
        Err(error) => Err(Failure::Lost(ending.or(&error.to_string()))),
    }
}

/// Returns a request as `rmcp` takes it.
fn typed(method: &str, params: Value) -> serde_json::Result<ClientRequest> {
    let fields = [("method", method.into()), ("params", params)];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    let request = Value::Object(fields.into_iter().collect());
    match method {
        // Trying each kind of request in turn would take longer than the rest of the call.
        "tools/call" => serde_json::from_value(request).map(ClientRequest::CallToolRequest),
        _ => serde_json::from_value(request),
    }
}

/// Returns the tools of a list that `rmcp` has left out, because their HTTP headers are invalid.
fn refused_tools(result: &Value, typed: &ServerResult) -> Vec<String> {
    let ServerResult::ListToolsResult(kept) = typed else {
        return Vec::new();
    };
    let tools = result.get("tools").and_then(Value::as_array);
    let names = tools.into_iter().flatten().filter_map(|tool| {
        let name = tool.get("name")?.as_str()?;
        tool.get("inputSchema")
            .filter(|schema| schema.is_object())?;
        Some(name)
    });
    let kept: HashSet<&str> = kept.tools.iter().map(|tool| &*tool.name).collect();
    let refused = names.filter(|name| !kept.contains(name));
    refused.map(str::to_owned).collect()
}

/// A request that is cancelled when it is dropped.
struct Pending<'r> {
    /// `None` once it was answered.
    handle: Option<RequestHandle<RoleClient>>,
    results: &'r RawResults,
}

impl Pending<'_> {
    async fn answer(
        &mut self,
        flight: &Flight,
        mut deadlines: Deadlines,
    ) -> Result<Result<ServerResult, ServiceError>, Failure> {
        let lost = || Failure::Lost("the connection was closed".to_owned());
        loop {
            let handle = self.handle.as_mut().ok_or_else(lost)?;
            let asking = flight.is_asking();
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    self.handle = None;
                    return answer.map_err(|_| lost());
                }
                () = flight.activity() => deadlines.extend(asking),
                () = sleep_until(deadlines.next()), if !asking => {
                    return Err(Failure::Timeout(deadlines.limit()));
                }
            }
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.handle.take(), Handle::try_current()) else {
            return;
        };
        let results = self.results.clone();
        runtime.spawn(async move {
            let id = handle.id.clone();
            // Nothing can be done if the connection has ended.
            let _ = handle.cancel(Some("no longer needed".to_owned())).await;
            // After the cancellation the request was sent too, so that it is expected. A late answer must not be kept.
            results.take(&id);
        });
    }
}

/// The deadlines of a request. Time in which the server waits for an answer of the user does not count.
struct Deadlines {
    idle: Duration,
    total: Duration,
    idle_end: Instant,
    total_end: Instant,
    since: Instant,
}

impl Deadlines {
    fn new(idle: Duration, total: Duration) -> Self {
        let now = Instant::now();
        Deadlines {
            idle,
            total,
            idle_end: later(now, idle),
            total_end: later(now, total),
            since: now,
        }
    }

    fn next(&self) -> Instant {
        self.idle_end.min(self.total_end)
    }

    fn limit(&self) -> Duration {
        if self.idle_end < self.total_end {
            self.idle
        } else {
            self.total
        }
    }

    /// Notes that the server was active. `asking` tells whether it has waited for us until now.
    fn extend(&mut self, asking: bool) {
        let now = Instant::now();
        if asking {
            self.total_end = later(self.total_end, now.duration_since(self.since));
        }
        self.since = now;
        self.idle_end = later(now, self.idle);
    }
}

/// Returns the time after a duration, or a time in some years if there is none.
fn later(start: Instant, duration: Duration) -> Instant {
    let far = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    start.checked_add(duration.min(far)).unwrap_or(start)
}
