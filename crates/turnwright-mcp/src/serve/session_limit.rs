//! Limits the number of HTTP sessions, and ends those that are not in use.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use turnwright_core::Principal;

use super::idle::{Activity, IdleTimeout};
use super::limits::ServeLimits;

/// Sessions in memory, up to a limit.
pub(super) struct LimitedSessions {
    pub(super) sessions: LocalSessionManager,
    permits: Arc<Semaphore>,
    open: Mutex<HashMap<SessionId, Open>>,
    idle: Duration,
}

/// A session that is open.
struct Open {
    activity: Activity,
    /// Who opened it, if requests are authenticated.
    owner: Option<Principal>,
    _permit: OwnedSemaphorePermit,
}

impl LimitedSessions {
    pub(super) fn new(limits: &ServeLimits) -> Self {
        let mut sessions = LocalSessionManager::default();
        // It would end sessions while calls are running: see `IdleTimeout`.
        sessions.session_config.keep_alive = None;
        let permits = limits.sessions.min(Semaphore::MAX_PERMITS);
        LimitedSessions {
            sessions,
            permits: Arc::new(Semaphore::new(permits)),
            open: Mutex::default(),
            idle: limits.session_idle,
        }
    }

    /// Returns whether no session can be opened now.
    pub(super) fn are_full(&self) -> bool {
        self.permits.available_permits() == 0
    }

    /// Notes who has opened a session.
    pub(super) fn belongs_to(&self, id: &str, owner: Principal) {
        if let Some(session) = self.open.lock().get_mut(id) {
            session.owner = Some(owner);
        }
    }

    /// Returns whether a principal may use a session.
    pub(super) fn is_open_to(&self, id: &str, principal: &Principal) -> bool {
        let open = self.open.lock();
        open.get(id).and_then(|session| session.owner.as_ref()) == Some(principal)
    }

    /// A session is in use while its client reads a stream.
    fn attached<S: Stream>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = S::Item> + use<S> {
        let open = self.open.lock();
        let attached = open.get(id).map(|session| session.activity.attach());
        stream.inspect(move |_| {
            // It is dropped with the stream.
            let _ = &attached;
        })
    }
}

impl SessionManager for LimitedSessions {
    type Error = LocalSessionManagerError;
    type Transport = IdleTimeout<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let full = |_| SessionError::from(io::Error::other("too many sessions are open"));
        let permit = permit.map_err(full)?;
        let (id, transport) = self.sessions.create_session().await?;
        let activity = Activity::default();
        let open = Open {
            activity: activity.clone(),
            owner: None,
            _permit: permit,
        };
        self.open.lock().insert(id.clone(), open);
        let transport = IdleTimeout {
            transport,
            activity,
            limit: self.idle,
        };
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.sessions.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.sessions.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.open.lock().remove(id);
        self.sessions.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.sessions.create_stream(id, message).await?;
        Ok(self.attached(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.sessions.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.sessions.create_standalone_stream(id).await?;
        Ok(self.attached(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.sessions.resume(id, last_event_id).await?;
        Ok(self.attached(id, stream))
    }
}
