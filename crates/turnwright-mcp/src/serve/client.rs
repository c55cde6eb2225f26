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
use serde_json::Value;
use turnwright_core::Principal;
use turnwright_core::event::Level;

use super::notice::{Notice, Wanted};

/// The client of a request, and what it supports.
pub(super) struct Client {
    /// Who the request acts for.
    pub(super) caller: Option<Principal>,
    context: RequestContext<RoleServer>,
    capabilities: ClientCapabilities,
    progress: Option<ProgressToken>,
    logs: Option<Level>,
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

    /// Sends a notification. `count` is the number of progress notifications so far.
    pub(super) async fn notify(&self, notice: Notice, count: &mut u32) {
        let peer: &Peer<RoleServer> = &self.context.peer;
        let sent = match notice {
            Notice::Progress(message) => {
                let Some(token) = self.progress.clone() else {
                    return;
                };
                *count = count.saturating_add(1);
                let progress = ProgressNotificationParam::new(token, f64::from(*count));
                peer.notify_progress(progress.with_message(message)).await
            }
            Notice::Log {
                level,
                logger,
                data,
            } => {
                let mut entry = LoggingMessageNotificationParam::new(logging_level(level), data);
                entry.logger = logger.map(Into::into);
                peer.notify_logging_message(entry).await
            }
        };
        // The connection is gone: the call is about to be cancelled.
        drop(sent);
    }

    /// Sends a request to the client and returns its answer.
    pub(super) async fn ask(&self, request: InputRequest) -> Result<Value, String> {
        let request = match request {
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            _ => return Err("the client cannot be asked this".to_owned()),
        };
        let answer = self.context.peer.send_request(request).await;
        let answer = answer.map_err(|_| "the client did not answer".to_owned())?;
        serde_json::to_value(answer).map_err(|_| "the client's answer is malformed".to_owned())
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
