//! Opens connections.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{ProtocolVersion, ServerPeerInfo};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RunningServiceCancellationToken,
    serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use tokio::sync::watch;
use tokio::time::timeout;

use super::announcements;
use super::failure::{Ending, causes};
use super::handler::Handler;
use super::http;
use super::http_settings::HttpSettings;
use super::raw_results::RawResults;
use super::stdio::Stdio;
use super::{About, ConnectOptions, Failure, Request, Response, Session, request};
use crate::limits::Limits;
use crate::oauth::Authorizer;
use crate::process::{ProcessLog, Program};

/// A connection by `rmcp`.
pub(super) struct Connection {
    about: About,
    pub(super) peer: Peer<RoleClient>,
    pub(super) handler: Handler,
    pub(super) results: RawResults,
    pub(super) ending: Ending,
    ended: watch::Receiver<bool>,
    stop: Mutex<Option<RunningServiceCancellationToken>>,
}

/// Starts a program and connects to it.
pub(crate) async fn connect_stdio(
    program: &Program,
    log: &ProcessLog,
    limits: &Limits,
    options: ConnectOptions,
) -> Result<Arc<dyn Session>, Failure> {
    let process = program.start().map_err(|error| {
        let command = program.command_line();
        let path = command.first().map(String::as_str).unwrap_or_default();
        Failure::NotConnected(format!("cannot start `{path}`: {error}"))
    })?;
    let (results, ending) = (RawResults::new(limits), Ending::default());
    let (bytes, log) = (limits.message_bytes, log.clone());
    let transport = Stdio::new(process, results.clone(), log, ending.clone(), bytes)
        .map_err(|error| Failure::NotConnected(error.to_string()))?;
    open(transport, results, ending, limits.start, options, true).await
}

/// Connects to a server over HTTP.
pub(crate) async fn connect_http(
    settings: &HttpSettings,
    authorizer: Option<Arc<Authorizer>>,
    limits: &Limits,
    options: ConnectOptions,
) -> Result<Arc<dyn Session>, Failure> {
    let (results, ending) = (RawResults::new(limits), Ending::default());
    let (kept, ends) = (results.clone(), ending.clone());
    let transport = http::transport(settings, authorizer, kept, ends, limits)?;
    // The stream for announcements may end unnoticed, or not be there.
    open(transport, results, ending, limits.start, options, false).await
}

/// Opens a connection over a transport. `reliable`: whether it loses no announcement in the lifecycle with sessions.
pub(super) async fn open<T, E, A>(
    transport: T,
    results: RawResults,
    ending: Ending,
    limit: Duration,
    options: ConnectOptions,
    reliable: bool,
) -> Result<Arc<dyn Session>, Failure>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let lifecycle = if options.sessions {
        ClientLifecycleMode::Initialize
    } else {
        ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        }
    };
    let handler = Handler::new(options);
    let opening = serve_client_with_lifecycle(handler.clone(), transport, lifecycle);
    let service = match timeout(limit, Box::pin(opening)).await {
        Ok(Ok(service)) => service,
        Ok(Err(error)) => {
            return Err(match error.auth_challenge() {
                Some(challenge) => Failure::Unauthorised(Some(challenge.to_owned())),
                None => Failure::NotConnected(ending.or(&cause(&error))),
            });
        }
        Err(_) => return Err(Failure::Timeout(limit)),
    };
    let peer = service.peer().clone();
    let info = peer
        .peer_info()
        .ok_or_else(|| Failure::Malformed("it does not introduce itself".to_owned()))?;
    let about = about(&info)?;
    let is_modern = about.protocol_version.as_str() >= ProtocolVersion::LATEST.as_str();
    let tools = info.capabilities.tools.as_ref();
    if tools.and_then(|tools| tools.list_changed) == Some(true) {
        if is_modern {
            announcements::subscribe(peer.clone(), handler.clone()).await;
        } else {
            handler.announces(reliable);
        }
    }
    let stop = Mutex::new(Some(service.cancellation_token()));
    let (end, ended) = watch::channel(false);
    tokio::spawn(async move {
        let _ = service.waiting().await;
        // There may be no receiver left.
        let _ = end.send(true);
    });
    Ok(Arc::new(Connection {
        about,
        peer,
        handler,
        results,
        ending,
        ended,
        stop,
    }))
}

/// Returns why a server cannot be used. The texts of `rmcp` name its types.
fn cause(error: &ClientInitializeError) -> String {
    use ClientInitializeError as Error;
    let error: &(dyn std::error::Error + 'static) = match error {
        // The new lifecycle was tried first, and then the one that all servers know.
        Error::LegacyFallbackFailed { fallback, .. } => return cause(fallback),
        Error::ExpectedInitResponse(_) | Error::ExpectedInitResult(_) => {
            return "its answer to `initialize` does not follow the protocol".to_owned();
        }
        Error::ConflictInitResponseId(..) | Error::UncorrelatedErrorResponse { .. } => {
            return "it answered another request than the one that was sent".to_owned();
        }
        Error::ConnectionClosed(_) => return "it closed the connection at the start".to_owned(),
        Error::TransportError { error, .. } => &*error.error,
        error => error,
    };
    // The innermost cause says what happened.
    let cause = causes(error).last().unwrap_or(error).to_string();
    // It may quote what the server sent.
    cause.chars().take(300).collect()
}

fn about(info: &ServerPeerInfo) -> Result<About, Failure> {
    let version = &info.protocol_version;
    if !ProtocolVersion::KNOWN_VERSIONS.contains(version) {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        let known: Vec<&str> = known.map(ProtocolVersion::as_str).collect();
        let version: String = version.as_str().chars().take(40).collect();
        return Err(Failure::Malformed(format!(
            "it chose protocol version `{}`; supported are {}",
            version.escape_debug(),
            known.join(", ")
        )));
    }
    let server = info.server_info.as_ref();
    Ok(About {
        name: server.map_or_else(String::new, |server| server.name.clone()),
        version: server.map_or_else(String::new, |server| server.version.clone()),
        protocol_version: version.as_str().to_owned(),
        instructions: info.instructions.clone(),
        has_tools: info.capabilities.tools.is_some(),
        has_resources: info.capabilities.resources.is_some(),
        has_prompts: info.capabilities.prompts.is_some(),
    })
}

#[async_trait]
impl Session for Connection {
    fn about(&self) -> &About {
        &self.about
    }

    async fn request(&self, request: Request) -> Result<Response, Failure> {
        request::send(self, request).await
    }

    fn tool_changes(&self) -> watch::Receiver<u64> {
        self.handler.tool_changes()
    }

    fn announces_changes(&self) -> bool {
        self.handler.announces_changes()
    }

    fn assume_change(&self) {
        self.handler.note_change();
    }

    fn has_ended(&self) -> bool {
        self.ending.is_set() || *self.ended.borrow()
    }

    async fn ended(&self) -> String {
        let mut ended = self.ended.clone();
        tokio::select! {
            // An error means that the task has ended too.
            _ = ended.wait_for(|ended| *ended) => {}
            () = self.ending.wait() => {}
        }
        self.ending.or("the connection was closed")
    }

    async fn close(&self) {
        self.stop();
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }
}

impl Connection {
    fn stop(&self) {
        if let Some(stop) = self.stop.lock().take() {
            stop.cancel();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop();
    }
}
