//! The connection to a server, as its tools see it. Its supervisor opens and closes it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use turnwright_core::schema::escape;
use turnwright_core::{Cancellation, Tool};

use super::server::{Endpoint, McpServer};
use super::status::{ServerState, ServerStatus, Withheld};
use crate::oauth::Authorizer;
use crate::pin::{Difference, LockedServer};
use crate::protocol::{Failure, Session};

pub(super) const REFUSED: &str = "the server refuses the tokens that were obtained for it";

/// The connection to a server: none, or one that is replaced when it ends.
pub(super) struct Connection {
    config: McpServer,
    authorizer: Option<Arc<Authorizer>>,
    state: watch::Sender<State>,
    stop: Cancellation,
}

#[derive(Clone)]
pub(super) enum State {
    Stopped,
    Starting,
    /// It requires authorisation, which is being obtained.
    Authorizing,
    Ready(Arc<Ready>),
    Down {
        reason: String,
        /// Whether a person must log in, and none could be asked.
        requires_login: bool,
    },
}

/// A connected server and what it offers.
pub(super) struct Ready {
    pub(super) session: Arc<dyn Session>,
    /// The number of changes that the server had announced when its list was requested.
    pub(super) announced: u64,
    pub(super) listed_at: Instant,
    pub(super) tools: Vec<Tool>,
    pub(super) withheld: Vec<Withheld>,
    pub(super) left_out: Vec<Withheld>,
    pub(super) warnings: Vec<String>,
    pub(super) differences: Vec<Difference>,
    /// What the server says, as it would be pinned.
    pub(super) seen: Arc<LockedServer>,
}

impl Ready {
    /// Returns whether the server has announced no change since its list was requested.
    pub(super) fn is_current(&self) -> bool {
        *self.session.tool_changes().borrow() == self.announced
    }

    /// Returns whether the list is older than this, and the server would not announce a change.
    fn is_stale(&self, age: Duration) -> bool {
        self.listed_at.elapsed() >= age && !self.session.announces_changes()
    }
}

impl Connection {
    pub(super) fn new(config: McpServer, stop: Cancellation) -> Arc<Self> {
        let authorizer = match &config.endpoint {
            Endpoint::Http(settings) => settings.authorizer(),
            Endpoint::Stdio(_) => None,
        };
        Arc::new(Connection {
            config,
            authorizer,
            state: watch::Sender::new(State::Stopped),
            stop,
        })
    }

    pub(super) fn config(&self) -> &McpServer {
        &self.config
    }

    pub(super) fn authorizer(&self) -> Option<&Arc<Authorizer>> {
        self.authorizer.as_ref()
    }

    /// Cancelled when the server is stopped.
    pub(super) fn stop(&self) -> &Cancellation {
        &self.stop
    }

    pub(super) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    pub(super) fn set(&self, state: State) {
        self.state.send_replace(state);
    }

    /// Notes that the server is being started. Returns whether that was not done before.
    pub(super) fn begin(&self) -> bool {
        self.state.send_if_modified(|state| {
            let is_first = matches!(state, State::Stopped);
            if is_first {
                *state = State::Starting;
            }
            is_first
        })
    }

    /// Returns what the server offers, if it is connected.
    pub(super) fn ready(&self) -> Option<Arc<Ready>> {
        match &*self.state.borrow() {
            State::Ready(ready) => Some(Arc::clone(ready)),
            _ => None,
        }
    }

    /// Returns what is known about the server.
    pub(super) fn status(&self) -> ServerStatus {
        let mut status = ServerStatus {
            alias: self.config.alias.clone(),
            state: ServerState::Stopped,
            requires_login: false,
            tools: Vec::new(),
            withheld: Vec::new(),
            left_out: Vec::new(),
            warnings: Vec::new(),
            differences: Vec::new(),
        };
        match self.state() {
            State::Stopped => {}
            State::Starting => status.state = ServerState::Starting,
            State::Authorizing => {
                status.state = ServerState::Authorizing;
                status.requires_login = true;
            }
            State::Down {
                reason,
                requires_login,
            } => {
                status.state = ServerState::Down { reason };
                status.requires_login = requires_login;
            }
            State::Ready(ready) => {
                let about = ready.session.about();
                status.state = ServerState::Connected {
                    name: escape(&about.name, 100),
                    version: escape(&about.version, 100),
                    protocol_version: about.protocol_version.clone(),
                };
                let names = ready.tools.iter().map(|tool| tool.name().to_owned());
                status.tools = names.collect();
                status.withheld.clone_from(&ready.withheld);
                status.left_out.clone_from(&ready.left_out);
                status.warnings.clone_from(&ready.warnings);
                status.differences.clone_from(&ready.differences);
            }
        }
        status
    }

    /// Returns the session on which requests are sent.
    pub(super) fn session(&self) -> Result<Arc<dyn Session>, Failure> {
        let why = match self.state() {
            State::Ready(ready) => return Ok(Arc::clone(&ready.session)),
            State::Down { reason, .. } => format!("the server is down: {reason}"),
            State::Authorizing => "the server waits for authorisation".to_owned(),
            State::Stopped | State::Starting => "the server is not connected".to_owned(),
        };
        Err(Failure::NotSent(why))
    }

    /// Sends requests. If the server requires authorisation, it has not executed them, so they are sent once more with another token.
    /// `session` is called each time: definitions may have changed while a person was asked.
    pub(super) async fn authorized<T: Send, F>(
        &self,
        session: impl Fn() -> Result<Arc<dyn Session>, Failure> + Send,
        send: impl Fn(Arc<dyn Session>) -> F + Send,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>> + Send,
    {
        let Some(authorizer) = &self.authorizer else {
            return send(session()?).await;
        };
        let seen = authorizer.generation();
        let challenge = match send(session()?).await {
            Err(Failure::Unauthorised(challenge)) => challenge,
            response => return response,
        };
        let authorized = authorizer.authorize(challenge.as_deref(), seen).await;
        authorized.map_err(Failure::NotAuthorised)?;
        match send(session()?).await {
            Err(Failure::Unauthorised(_)) => Err(Failure::NotAuthorised(REFUSED.to_owned())),
            Err(failure) => Err(failure),
            Ok(response) => {
                authorizer.accepted();
                Ok(response)
            }
        }
    }

    /// Waits until the server is connected or down.
    pub(super) async fn settled(&self) {
        self.wait_for(|state| matches!(state, State::Ready(_) | State::Down { .. }))
            .await;
    }

    /// Waits until the connection has ended, once the server was stopped.
    pub(super) async fn stopped(&self) {
        self.wait_for(|state| matches!(state, State::Stopped | State::Down { .. }))
            .await;
    }

    async fn wait_for(&self, is_reached: impl FnMut(&State) -> bool) {
        // The sender is in `self`.
        let _ = self.state.subscribe().wait_for(is_reached).await;
    }

    /// Reads the list again, if the server does not announce changes and the list is older than [`Limits::list_age`].
    ///
    /// [`Limits::list_age`]: crate::Limits::list_age
    pub(super) fn refresh(&self) {
        if let Some(ready) = self.ready()
            && ready.is_current()
            && ready.is_stale(self.config.limits.list_age)
        {
            ready.session.assume_change();
        }
    }

    /// Waits until the list is current, but not for longer than a start may take.
    pub(super) async fn listed(&self) {
        self.refresh();
        let current =
            self.wait_for(|state| !matches!(state, State::Ready(ready) if !ready.is_current()));
        // Whether it is current is checked again when the call is sent.
        let _ = timeout(self.config.limits.start, current).await;
    }

    /// Waits until the server is connected by another session than this one, which has ended. Returns whether it is: the next attempt
    /// may fail or take longer than a start may, or the server may be stopped.
    pub(super) async fn reconnected(&self, ended: Option<&Arc<dyn Session>>) -> bool {
        let is_ended = |ready: &Ready| ended.is_some_and(|it| Arc::ptr_eq(it, &ready.session));
        let mut failures = 0;
        let decided = self.wait_for(|state| match state {
            State::Ready(ready) => !is_ended(ready),
            State::Down { .. } => {
                failures += 1;
                // The first is the end of the session.
                failures > 1
            }
            _ => false,
        });
        tokio::select! {
            _ = timeout(self.config.limits.start, decided) => {
                self.ready().is_some_and(|ready| !is_ended(&ready))
            }
            () = self.stop.cancelled() => false,
        }
    }
}
