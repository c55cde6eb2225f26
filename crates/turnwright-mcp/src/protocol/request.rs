//! One request over `rmcp`, with deadlines.

use std::collections::HashSet;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::connect::Connection;
use super::handler::Flight;
use super::raw_results::{Outcome, RawResults, UNREADABLE};
use super::{Failure, Request, Response};

/// Sends a request and waits for its result.
pub(super) async fn send(connection: &Connection, request: Request) -> Result<Response, Failure> {
    let Connection {
        peer,
        handler,
        results,
        ending,
        ..
    } = connection;
    let typed = typed(request.method, request.params)
        .map_err(|error| Failure::NotSent(error.to_string()))?;
    let sent = peer.send_cancellable_request(typed, PeerRequestOptions::no_options());
    let (handle, mut in_flight) = handler
        .enter(sent, request.listener)
        .await
        .map_err(|error| Failure::NotSent(ending.or(&error.to_string())))?;
    let id = handle.id.clone();
    let mut pending = Pending {
        handle: Some(handle),
        results,
    };
    let limits = (request.idle, request.total);
    let response = pending.response(&in_flight.flight, limits).await;
    in_flight.answered = response.is_ok();
    let result = match results.take(&id) {
        Some(Outcome::NotSent(why)) => return Err(Failure::NotSent(why)),
        Some(Outcome::Result(result)) => Some(result),
        None => None,
    };
    match response? {
        Ok(typed) => {
            let no_result = || Failure::Malformed("the answer has no result".to_owned());
            let result = result.ok_or_else(no_result)?;
            let unusable_tools = unusable_tools(&result, &typed);
            Ok(Response {
                result,
                unusable_tools,
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
    let fields = [
        ("method".to_owned(), method.into()),
        ("params".to_owned(), params),
    ];
    let request = Value::Object(fields.into_iter().collect());
    match method {
        // Trying each kind of request in turn would take longer than the rest of the call.
        "tools/call" => serde_json::from_value(request).map(ClientRequest::CallToolRequest),
        _ => serde_json::from_value(request),
    }
}

/// Returns the tools of a list that `rmcp` has left out, because their HTTP headers are invalid.
fn unusable_tools(result: &Value, typed: &ServerResult) -> Vec<String> {
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
    let unusable = names.filter(|name| !kept.contains(name));
    unusable.map(str::to_owned).collect()
}

/// A request that is cancelled when it is dropped.
struct Pending<'r> {
    /// `None` once it was answered.
    handle: Option<RequestHandle<RoleClient>>,
    results: &'r RawResults,
}

impl Pending<'_> {
    /// Waits for the response, up to these limits without activity and in total. Time in which the server waits for the user does not
    /// count.
    async fn response(
        &mut self,
        flight: &Flight,
        (idle, total): (Duration, Duration),
    ) -> Result<Result<ServerResult, ServiceError>, Failure> {
        let lost = || Failure::Lost("the connection was closed".to_owned());
        let mut left = total;
        loop {
            let handle = self.handle.as_mut().ok_or_else(lost)?;
            let since = Instant::now();
            let asking = flight.is_asking();
            tokio::select! {
                biased;
                response = &mut handle.rx => {
                    self.handle = None;
                    return response.map_err(|_| lost());
                }
                () = flight.activity() => {}
                () = sleep(idle.min(left)), if !asking => {
                    return Err(Failure::Timeout(if idle < left { idle } else { total }));
                }
            }
            if !asking {
                left = left.saturating_sub(since.elapsed());
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
