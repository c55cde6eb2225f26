//! The client of a request.

#![expect(
    deprecated,
    reason = "sampling, roots and logging are deprecated in the newest protocol and in use in the others"
)]

use rmcp::model::{
    ClientCapabilities, InputRequest, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerRequest,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use turnwright_core::Principal;
use turnwright_core::event::{Event, EventBus, EventKind, Level};

/// How many events may wait to be sent. A call never waits for a slow client: further ones are dropped.
const QUEUE: usize = 256;

/// The client of a request, and what it supports.
pub(super) struct Client {
    /// Who the request acts for.
    pub(super) caller: Option<Principal>,
    context: RequestContext<RoleServer>,
    capabilities: ClientCapabilities,
    progress: Option<ProgressToken>,
    logs: Option<Level>,
}

/// Which events of a call a client wants.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    progress: bool,
    /// The lowest level of log entries, if any.
    logs: Option<Level>,
}

impl Wanted {
    /// Creates an event bus for one call that passes on what is wanted.
    pub(super) fn observe(self, above: &EventBus) -> (EventBus, mpsc::Receiver<Event>) {
        let (sender, wanted) = mpsc::channel(QUEUE);
        let events = above.below();
        if self.progress || self.logs.is_some() {
            events.observe(move |event| {
                if self.includes(&event.kind) {
                    // Full, or the client is gone.
                    let _ = sender.try_send(event.clone());
                }
            });
        }
        (events, wanted)
    }

    fn includes(self, event: &EventKind) -> bool {
        match event {
            EventKind::ToolExecutionProgress { .. } => self.progress,
            EventKind::Log { level, .. } => self.logs.is_some_and(|lowest| *level >= lowest),
            _ => false,
        }
    }
}

/// What a client must support to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Form,
    Sampling,
    Roots,
}

impl Client {
    /// `level` is the level of log entries that the session asks for, if it may have any.
    pub(super) fn new(
        context: RequestContext<RoleServer>,
        caller: Option<Principal>,
        level: Option<LoggingLevel>,
    ) -> Self {
        let logs = if is_modern(&context) {
            // Only requests that ask for log entries get them.
            level.and(context.meta.log_level())
        } else {
            level
        };
        Client {
            caller,
            capabilities: context.client_capabilities().unwrap_or_default(),
            progress: context.meta.get_progress_token(),
            logs: logs.map(level_of),
            context,
        }
    }

    /// Returns whether the client uses the lifecycle without sessions, in which the server sends no requests.
    pub(super) fn is_modern(&self) -> bool {
        is_modern(&self.context)
    }

    /// Returns whether the client knows links to resources in results.
    pub(super) fn knows_links(&self) -> bool {
        let version = self.context.protocol_version();
        version.is_none_or(|version| version.as_str() >= ProtocolVersion::V_2025_06_18.as_str())
    }

    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            progress: self.progress.is_some(),
            logs: self.logs,
        }
    }

    pub(super) async fn cancelled(&self) {
        self.context.ct.cancelled().await;
    }

    pub(super) fn supports(&self, need: Need) -> bool {
        match need {
            Need::Form => (self.capabilities.elicitation.as_ref())
                .is_some_and(|how| how.form.is_some() || how.url.is_none()),
            Need::Sampling => self.capabilities.sampling.is_some(),
            Need::Roots => self.capabilities.roots.is_some(),
        }
    }

    /// Passes on what a call reports. `count` is the number of progress notifications so far.
    pub(super) async fn notify(&self, event: Event, count: &mut u32) {
        let peer: &Peer<RoleServer> = &self.context.peer;
        let sent = match (event.kind, &self.progress) {
            (EventKind::ToolExecutionProgress { message, .. }, Some(token)) => {
                *count = count.saturating_add(1);
                let progress = ProgressNotificationParam::new(token.clone(), f64::from(*count));
                peer.notify_progress(progress.with_message(message)).await
            }
            (
                EventKind::Log {
                    level,
                    kind,
                    message,
                    payload,
                    ..
                },
                _,
            ) => {
                let data = match payload {
                    None => json!(message),
                    Some(payload) => json!({ "message": message, "data": payload }),
                };
                let mut entry = LoggingMessageNotificationParam::new(logging_level(level), data);
                entry.logger = kind.map(Into::into);
                peer.notify_logging_message(entry).await
            }
            _ => return,
        };
        // The connection is gone: the call is about to be cancelled.
        drop(sent);
    }

    /// Sends a request to the client and returns its reply.
    pub(super) async fn ask(&self, request: InputRequest) -> Result<Value, String> {
        let request = match request {
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            _ => return Err("the client cannot be asked this".to_owned()),
        };
        let reply = self.context.peer.send_request(request).await;
        let reply = reply.map_err(|_| "the client did not answer".to_owned())?;
        serde_json::to_value(reply).map_err(|_| "the client's answer is malformed".to_owned())
    }
}

impl Need {
    /// The error of a request that needs more than the client supports.
    pub(super) fn missing(self) -> ErrorData {
        let mut required = ClientCapabilities::default();
        match self {
            Need::Form => required.elicitation = Some(Default::default()),
            Need::Sampling => required.sampling = Some(Default::default()),
            Need::Roots => required.roots = Some(Default::default()),
        }
        ErrorData::missing_required_client_capability(required)
    }
}

/// Returns whether a request uses the lifecycle without sessions.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    // Versions are dates.
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn level_of(level: LoggingLevel) -> Level {
    match level {
        LoggingLevel::Debug => Level::Debug,
        LoggingLevel::Info | LoggingLevel::Notice => Level::Info,
        LoggingLevel::Warning => Level::Warn,
        _ => Level::Error,
    }
}

fn logging_level(level: Level) -> LoggingLevel {
    match level {
        Level::Debug => LoggingLevel::Debug,
        Level::Warn => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
        _ => LoggingLevel::Info,
    }
}
