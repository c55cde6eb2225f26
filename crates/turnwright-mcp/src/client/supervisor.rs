//! Starts a server, reads what it offers, and restarts it when it ends.
//!
//! The list of tools is current when a call is sent. Changes are announced by notifications, and without sessions by a
//! subscription. Where neither is reliable, the list is read again when it is older than `Limits::list_age`. Both are
//! one counter: an old list is an assumed change.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};
use turnwright_core::Cancellation;

use super::connection::{Connection, REFUSED, Ready, State};
use super::pages;
use super::server::{Endpoint, McpServer};
use crate::oauth::NO_PROMPT;
use crate::pin::Pins;
use crate::process::ProcessLog;
use crate::protocol::{Failure, MAX_DELAY, Session, connect_http, connect_stdio, delays};

/// The shortest time between two lists, however often the server announces changes.
const LIST_INTERVAL: Duration = Duration::from_secs(1);

/// How often authorisation is obtained in a row: once for access, and once for more scopes.
const MAX_AUTHORISATIONS: usize = 2;

/// A server with its task.
pub(super) struct Supervisor {
    connection: Arc<Connection>,
    pins: Pins,
    log: ProcessLog,
    /// The session, until it is closed.
    session: Mutex<Option<Arc<dyn Session>>>,
}

impl Supervisor {
    pub(super) fn new(config: McpServer, pins: Pins, stop: Cancellation) -> Arc<Self> {
        Arc::new(Supervisor {
            connection: Connection::new(config, stop),
            pins,
            log: ProcessLog::default(),
            session: Mutex::new(None),
        })
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Returns the last lines that the program wrote to standard error.
    pub(super) fn log(&self) -> String {
        self.log.text()
    }

    /// Starts the server, if that was not done before.
    pub(super) fn start(self: &Arc<Self>) {
        if self.connection.begin() {
            tokio::spawn(Arc::clone(self).supervise());
        }
    }

    async fn supervise(self: Arc<Self>) {
        let mut waits = delays();
        loop {
            let started = Instant::now();
            let down = tokio::select! {
                biased;
                () = self.connection.stop().cancelled() => down("it was stopped".to_owned()),
                down = self.run() => down,
            };
            // Out of the lock before it waits.
            let session = self.session.lock().take();
            if let Some(session) = session {
                session.close().await;
            }
            self.connection.set(down);
            if self.connection.stop().is_cancelled() {
                return;
            }
            // After a long run the delay is the shortest again, and so is the next one.
            if started.elapsed() > MAX_DELAY {
                waits = delays();
                continue;
            }
            tokio::select! {
                () = sleep(waits.next().unwrap_or(MAX_DELAY)) => {}
                () = self.connection.stop().cancelled() => {}
            }
        }
    }

    /// Uses the server until it fails. Returns why it failed.
    async fn run(self: &Arc<Self>) -> State {
        for authorisations in 0..=MAX_AUTHORISATIONS {
            let authorizer = self.connection.authorizer();
            let seen = authorizer.map(|authorizer| authorizer.generation());
            let Err(failure) = self.serve(authorisations > 0).await;
            let (challenge, authorizer, seen) = match (failure, authorizer, seen) {
                (Failure::Unauthorised(challenge), Some(authorizer), Some(seen)) => {
                    (challenge, authorizer, seen)
                }
                (failure, ..) => return down(self.explain(&failure)),
            };
            if authorisations == MAX_AUTHORISATIONS {
                break;
            }
            self.connection.set(State::Authorizing);
            if let Err(why) = authorizer.authorize(challenge.as_deref(), seen).await {
                return State::Down {
                    requires_login: why == NO_PROMPT,
                    reason: Failure::NotAuthorised(why).to_string(),
                };
            }
        }
        down(Failure::NotAuthorised(REFUSED.to_owned()).to_string())
    }

    /// Connects, and keeps the offer up to date until the connection ends. `refused`: whether the server has refused that before it
    /// was authorised.
    async fn serve(self: &Arc<Self>, refused: bool) -> Result<Infallible, Failure> {
        let config = self.connection.config();
        let (limits, options) = (&config.limits, config.connect_options());
        let session = match &config.endpoint {
            Endpoint::Stdio(program) => connect_stdio(program, &self.log, limits, options).await?,
            Endpoint::Http(settings) => {
                let authorizer = self.connection.authorizer().cloned();
                connect_http(settings, authorizer, limits, options).await?
            }
        };
        *self.session.lock() = Some(Arc::clone(&session));
        tokio::select! {
            biased;
            reason = session.ended() => Err(Failure::Lost(reason)),
            failed = self.offer(&session, refused) => failed,
        }
    }

    /// Reads the list of tools whenever it changes, and offers its tools.
    async fn offer(
        self: &Arc<Self>,
        session: &Arc<dyn Session>,
        refused: bool,
    ) -> Result<Infallible, Failure> {
        let mut changes = session.tool_changes();
        loop {
            let announced = *changes.borrow_and_update();
            let listed_at = Instant::now();
            let list = pages::tools(&**session, &self.connection.config().limits).await?;
            if let Some(authorizer) = self.connection.authorizer().filter(|_| refused) {
                authorizer.accepted();
            }
            let (this, session) = (Arc::clone(self), Arc::clone(session));
            // On a thread of its own: the server chooses how long it takes.
            let built = spawn_blocking(move || {
                let at = (announced, listed_at);
                Ready::new(&this.connection, &this.pins, session, at, list)
            });
            let built = built.await;
            let ready = built.unwrap_or_else(|error| Err(Failure::Failed(error.to_string())))?;
            self.connection.set(State::Ready(Arc::new(ready)));
            // The sender is in the session.
            let _ = changes.changed().await;
            sleep_until(listed_at + LIST_INTERVAL).await;
        }
    }

    fn explain(&self, failure: &Failure) -> String {
        match (failure, self.log.last_line()) {
            (Failure::Timeout(_), Some(line)) => {
                format!("{failure}; its last output was: {line}")
            }
            // It says itself what it is.
            (Failure::Lost(reason), _) => reason.clone(),
            (failure, _) => failure.to_string(),
        }
    }
}

fn down(reason: String) -> State {
    State::Down {
        reason,
        requires_login: false,
    }
}
