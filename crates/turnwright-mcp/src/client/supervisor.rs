//! Starts a server, reads what it offers, and restarts it when it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use turnwright_core::Cancellation;

use super::offer::{self, Listed};
use super::ready::Ready;
use super::server::{Endpoint, McpServer};
use crate::oauth::{Authorizer, NO_PROMPT};
use crate::pin::{Change, Difference, LockedServer, Pinning, compare};
use crate::process::ProcessLog;
use crate::protocol::{Answer, Failure, Request, Session, connect_http, connect_stdio};

/// How long a server must have run for the delay before its restart to be the shortest again. Also the longest delay.
const STABLE: Duration = Duration::from_secs(60);

/// The shortest time between two lists, however often the server announces changes.
const LIST_INTERVAL: Duration = Duration::from_secs(1);

/// How often authorisation is obtained in a row: once for access, and once for more scopes.
const MAX_AUTHORISATIONS: usize = 2;

/// The reason of a server that was stopped.
const STOPPED: &str = "it was stopped";

const REFUSED: &str = "the server refuses the tokens that were obtained for it";

/// A server with its task.
pub(super) struct Supervised {
    config: McpServer,
    pinning: Pinning,
    /// The pins. With [`Pinning::TrustOnFirstUse`], set when the server is first seen.
    pinned: Mutex<Option<Arc<LockedServer>>>,
    state: watch::Sender<State>,
    /// The connection, until it is closed.
    connection: Mutex<Option<Arc<dyn Session>>>,
    stop: Cancellation,
    log: ProcessLog,
    /// Whether it is down because no person could be asked to log in.
    unattended: AtomicBool,
    authorizer: Option<Arc<Authorizer>>,
}

#[derive(Clone)]
pub(super) enum State {
    Stopped,
    Starting,
    /// It requires authorisation, which is being obtained.
    Authorizing,
    Ready(Arc<Ready>),
    Down(String),
}

impl Supervised {
    pub(super) fn new(
        config: McpServer,
        pinning: Pinning,
        pinned: Option<LockedServer>,
        stop: Cancellation,
    ) -> Arc<Self> {
        let authorizer = match &config.endpoint {
            Endpoint::Http(settings) => settings.authorizer(),
            Endpoint::Stdio(_) => None,
        };
        Arc::new(Supervised {
            authorizer,
            config,
            pinning,
            pinned: Mutex::new(pinned.map(Arc::new)),
            state: watch::Sender::new(State::Stopped),
            connection: Mutex::new(None),
            stop,
            log: ProcessLog::default(),
            unattended: AtomicBool::new(false),
        })
    }

    pub(super) fn config(&self) -> &McpServer {
        &self.config
    }

    /// Sends a request. If the server requires authorisation, it has not executed the request, so it is sent once more with another
    /// token. `session` is called each time: definitions may have changed while a person was asked.
    pub(super) async fn request(
        &self,
        session: impl Fn() -> Result<Arc<dyn Session>, Failure> + Send,
        request: Request,
    ) -> Result<Answer, Failure> {
        let send = |session: Arc<dyn Session>| {
            let request = request.clone();
            async move { session.request(request).await }
        };
        self.authorized(session, send).await
    }

    /// Sends requests, and sends them once more with another token if the server requires authorisation.
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
        let mut answer = send(session()?).await;
        if let Err(Failure::Unauthorised(challenge)) = &answer {
            let authorized = authorizer.authorize(challenge.as_deref(), seen).await;
            authorized.map_err(Failure::NotAuthorised)?;
            answer = send(session()?).await;
            match &answer {
                Err(Failure::Unauthorised(_)) => {
                    return Err(Failure::NotAuthorised(REFUSED.to_owned()));
                }
                Ok(_) => authorizer.accepted(),
                Err(_) => {}
            }
        }
        answer
    }

    pub(super) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Returns the connection.
    pub(super) fn session(&self) -> Result<Arc<dyn Session>, Failure> {
        match self.state() {
            State::Ready(ready) => Ok(Arc::clone(&ready.session)),
            State::Down(reason) => Err(Failure::NotSent(format!("the server is down: {reason}"))),
            State::Authorizing => Err(Failure::NotSent(
                "the server waits for authorisation".to_owned(),
            )),
            State::Stopped | State::Starting => {
                Err(Failure::NotSent("the server is not connected".to_owned()))
            }
        }
    }

    /// Starts the server, if that was not done before.
    pub(super) fn start(self: &Arc<Self>) {
        let first = self.state.send_if_modified(|state| {
            let first = matches!(state, State::Stopped);
            if first {
                *state = State::Starting;
            }
            first
        });
        if first {
            tokio::spawn(Arc::clone(self).supervise());
        }
    }

    /// Waits until the server is connected or down.
    pub(super) async fn settled(&self) -> State {
        let mut state = self.state.subscribe();
        let settled = |state: &State| matches!(state, State::Ready(_) | State::Down(_));
        match state.wait_for(settled).await {
            Ok(state) => state.clone(),
            // The sender is in `self`.
            Err(_) => self.state(),
        }
    }

    /// Reads the list again, if the server does not announce changes and the list is older than [`Limits::list_age`].
    ///
    /// [`Limits::list_age`]: crate::Limits::list_age
    pub(super) fn refresh(&self) {
        if let State::Ready(ready) = self.state()
            && ready.is_current()
            && ready.is_stale(self.config.limits.list_age)
        {
            ready.session.assume_change();
        }
    }

    /// Waits until the list is current, but not for longer than a start may take.
    pub(super) async fn listed(&self) {
        self.refresh();
        let mut state = self.state.subscribe();
        let is_current =
            |state: &State| !matches!(state, State::Ready(ready) if !ready.is_current());
        // Whether it is current is checked again when the call is sent.
        let _ = timeout(self.config.limits.start, state.wait_for(is_current)).await;
    }

    /// Waits until the server is connected by another session than this one, which has ended. Returns whether it is: the next attempt
    /// may fail or take longer than a start may, or the server may be stopped.
    pub(super) async fn reconnected(&self, ended: Option<&Arc<dyn Session>>) -> bool {
        let is_ended =
            |session: &Arc<dyn Session>| ended.is_some_and(|ended| Arc::ptr_eq(ended, session));
        let mut states = self.state.subscribe();
        let connected = async {
            let mut failures = 0;
            loop {
                match &*states.borrow_and_update() {
                    State::Ready(ready) if !is_ended(&ready.session) => return true,
                    // The first is the end of the session.
                    State::Down(_) if failures > 0 => return false,
                    State::Down(_) => failures += 1,
                    _ => {}
                }
                if states.changed().await.is_err() {
                    return false;
                }
            }
        };
        tokio::select! {
            connected = timeout(self.config.limits.start, connected) => connected.unwrap_or(false),
            () = self.stop.cancelled() => false,
        }
    }

    /// Waits until the connection has ended, once `stop` was cancelled.
    pub(super) async fn stopped(&self) {
        let mut state = self.state.subscribe();
        let ended = |state: &State| matches!(state, State::Stopped | State::Down(_));
        // The sender is in `self`.
        let _ = state.wait_for(ended).await;
    }

    /// Returns how long the server takes to list its tools, if it is connected and answers.
    pub(super) async fn latency(&self) -> Option<Duration> {
        let State::Ready(ready) = self.state() else {
            return None;
        };
        let started = Instant::now();
        let listed = offer::list(&*ready.session, &self.config.limits).await;
        listed.ok().map(|_| started.elapsed())
    }

    async fn supervise(self: Arc<Self>) {
        let delays = || {
            let delays = ExponentialBuilder::default().with_jitter();
            let delays = delays.with_min_delay(Duration::from_secs(1));
            delays.with_max_delay(STABLE).without_max_times().build()
        };
        let mut waits = delays();
        while !self.stop.is_cancelled() {
            let started = Instant::now();
            let failure = tokio::select! {
                failure = self.run() => failure,
                () = self.stop.cancelled() => STOPPED.to_owned(),
            };
            // Out of the lock before it waits.
            let connection = self.connection.lock().take();
            if let Some(connection) = connection {
                connection.close().await;
            }
            self.state.send_replace(State::Down(failure));
            if started.elapsed() > STABLE {
                waits = delays();
                continue;
            }
            let wait = waits.next().unwrap_or(STABLE);
            tokio::select! {
                () = sleep(wait) => {}
                () = self.stop.cancelled() => {}
            }
        }
        // It may have been stopped before it was started.
        self.state.send_if_modified(|state| {
            let starting = matches!(state, State::Starting);
            if starting {
                *state = State::Down(STOPPED.to_owned());
            }
            starting
        });
    }

    /// Uses the server until it fails. Returns why it failed.
    async fn run(self: &Arc<Self>) -> String {
        let mut authorisations = 0;
        self.unattended.store(false, Ordering::Release);
        loop {
            let seen = self
                .authorizer
                .as_ref()
                .map(|authorizer| authorizer.generation());
            let (challenge, authorizer, seen) =
                match (self.serve(authorisations > 0).await, &self.authorizer) {
                    (Failure::Unauthorised(challenge), Some(authorizer)) => {
                        (challenge, authorizer, seen.unwrap_or_default())
                    }
                    (failure, _) => return self.explain(&failure),
                };
            authorisations += 1;
            if authorisations > MAX_AUTHORISATIONS {
                return Failure::NotAuthorised(REFUSED.to_owned()).to_string();
            }
            self.state.send_replace(State::Authorizing);
            if let Err(why) = authorizer.authorize(challenge.as_deref(), seen).await {
                self.unattended.store(why == NO_PROMPT, Ordering::Release);
                return Failure::NotAuthorised(why).to_string();
            }
        }
    }

    /// Connects, and keeps the offer up to date until the connection ends. Returns why it ended. `refused`: whether the server has
    /// refused that before it was authorised.
    async fn serve(self: &Arc<Self>, refused: bool) -> Failure {
        let (limits, options) = (&self.config.limits, self.config.connect_options());
        let connected = match &self.config.endpoint {
            Endpoint::Stdio(program) => connect_stdio(program, &self.log, limits, options).await,
            Endpoint::Http(settings) => {
                connect_http(settings, self.authorizer.clone(), limits, options).await
            }
        };
        let session = match connected {
            Ok(session) => session,
            Err(failure) => return failure,
        };
        *self.connection.lock() = Some(Arc::clone(&session));
        let mut changes = session.tool_changes();
        loop {
            let announced = *changes.borrow_and_update();
            let listed_at = Instant::now();
            let listed = tokio::select! {
                listed = offer::list(&*session, &self.config.limits) => listed,
                reason = session.ended() => return Failure::Lost(reason),
            };
            match listed {
                Ok(listed) => {
                    if let Some(authorizer) = self.authorizer.as_ref().filter(|_| refused) {
                        authorizer.accepted();
                    }
                    match self.ready(&session, (announced, listed_at), listed).await {
                        Ok(ready) => self.state.send_replace(State::Ready(Arc::new(ready))),
                        Err(failure) => return failure,
                    };
                }
                Err(failure) => return failure,
            }
            tokio::select! {
                reason = session.ended() => return Failure::Lost(reason),
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Failure::Lost(session.ended().await);
                    }
                }
            }
            tokio::select! {
                reason = session.ended() => return Failure::Lost(reason),
                () = sleep_until(listed_at + LIST_INTERVAL) => {}
            }
        }
    }

    /// Reads and builds what a server has listed. On a thread of its own: the server chooses how long it takes.
    async fn ready(
        self: &Arc<Self>,
        session: &Arc<dyn Session>,
        at: (u64, Instant),
        listed: Listed,
    ) -> Result<Ready, Failure> {
        let (this, session) = (Arc::clone(self), Arc::clone(session));
        let built = spawn_blocking(move || Ready::new(&this, session, at, listed)).await;
        built.unwrap_or_else(|error| Err(Failure::Failed(error.to_string())))
    }

    fn explain(&self, failure: &Failure) -> String {
        match self.log.last_line() {
            Some(line) if matches!(failure, Failure::Timeout(_)) => {
                format!("{failure}; its last output was: {line}")
            }
            // It says itself what it is.
            _ => match failure {
                Failure::Lost(reason) => reason.clone(),
                failure => failure.to_string(),
            },
        }
    }

    /// Compares what the server says with its pins.
    pub(super) fn differences(&self, seen: &Arc<LockedServer>) -> Vec<Difference> {
        let mut pinned = self.pinned.lock();
        match (self.pinning, &*pinned) {
            (Pinning::Unpinned, _) => Vec::new(),
            (_, Some(pinned)) => compare(pinned, seen),
            (Pinning::TrustOnFirstUse, None) => {
                *pinned = Some(Arc::clone(seen));
                Vec::new()
            }
            (Pinning::Pinned, None) => vec![Difference::of_server(Change::NewServer)],
        }
    }

    /// Returns whether it is down because a person must log in, and none could be asked.
    pub(super) fn is_unattended(&self) -> bool {
        self.unattended.load(Ordering::Acquire)
    }

    /// Returns the last lines that the program wrote to standard error.
    pub(super) fn log(&self) -> String {
        self.log.text()
    }
}
