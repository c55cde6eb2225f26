//! Limits the number of HTTP sessions.

use std::fmt;

use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};

use super::limits::ServeLimits;

/// Sessions in memory, up to a limit.
pub(super) struct LimitedSessions {
    sessions: LocalSessionManager,
    most: usize,
}

impl LimitedSessions {
    pub(super) fn new(limits: &ServeLimits) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(limits.session_idle);
        LimitedSessions {
            sessions,
            most: limits.sessions,
        }
    }

    /// Returns whether no session can be opened now.
    pub(super) async fn are_full(&self) -> bool {
        self.sessions.sessions.read().await.len() >= self.most
    }
}

/// Why a session could not be used.
#[derive(Debug)]
pub(super) enum SessionFailure {
    TooMany,
    Session(LocalSessionManagerError),
}

impl fmt::Display for SessionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionFailure::TooMany => f.write_str("too many sessions are open"),
            SessionFailure::Session(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionFailure {}

impl From<LocalSessionManagerError> for SessionFailure {
    fn from(error: LocalSessionManagerError) -> Self {
        SessionFailure::Session(error)
    }
}

impl SessionManager for LimitedSessions {
    type Error = SessionFailure;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionFailure> {
        if self.are_full().await {
            return Err(SessionFailure::TooMany);
        }
        Ok(self.sessions.create_session().await?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionFailure> {
        Ok(self.sessions.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionFailure> {
        Ok(self.sessions.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionFailure> {
        Ok(self.sessions.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFailure> {
        Ok(self.sessions.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionFailure> {
        Ok(self.sessions.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFailure> {
        Ok(self.sessions.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFailure> {
        Ok(self.sessions.resume(id, last_event_id).await?)
    }
}
