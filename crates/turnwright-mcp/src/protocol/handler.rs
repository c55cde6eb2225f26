//! What a server sends on its own: progress, questions, announcements.
//!
//! A question belongs to a turn. Over standard streams a server does not say which call asks. If the calls in flight,
//! or those that were given up in the last minutes, belong to several turns, the question is declined: it must not
//! reach another user.

#![expect(
    deprecated,
    reason = "sampling and roots are deprecated in the newest protocol and in use in the others"
)]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestMethod, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorCode,
    ErrorData, Implementation, ListRootsRequestMethod, ListRootsResult, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, RequestId, Root,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RequestHandle};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::{ConnectOptions, Listener, TurnIdentity};

/// How many questions a server may ask during one request.
pub(crate) const MAX_QUESTIONS: usize = 20;

/// How long a server may still ask about a request that was given up.
const MEMORY: Duration = Duration::from_secs(5 * 60);

/// The error of a sampling request that was refused, as the protocol defines it.
const REJECTED: ErrorCode = ErrorCode(-1);

/// The client's side of a connection. A handle: clones share their state.
#[derive(Clone)]
pub(super) struct Handler {
    options: Arc<ConnectOptions>,
    flights: Arc<Mutex<Flights>>,
    /// Locked while a request is sent and not yet among `flights`.
    sending: Arc<tokio::sync::Mutex<()>>,
    tool_changes: watch::Sender<u64>,
    announces: Arc<AtomicBool>,
}

#[derive(Default)]
pub(super) struct Flights {
    open: Vec<Arc<Flight>>,
    /// The turns of requests that were given up, and when that last was. The server may still work on them.
    given_up: Vec<(Instant, TurnIdentity)>,
}

/// A request in flight.
pub(super) struct Flight {
    id: RequestId,
    token: ProgressToken,
    listener: Option<Arc<dyn Listener>>,
    /// The number of questions that are open.
    asking: AtomicUsize,
    /// The number of questions that were asked.
    asked: AtomicUsize,
    active: Notify,
}

/// Removes a flight when it is dropped.
pub(super) struct InFlight {
    handler: Handler,
    pub(super) flight: Arc<Flight>,
    /// Whether the server has answered, so that it asks nothing more about the request.
    pub(super) answered: bool,
}

impl Flights {
    /// Notes that a request of this turn was given up.
    pub(super) fn give_up(&mut self, turn: TurnIdentity) {
        let still = |at: &Instant| at.elapsed() < MEMORY;
        self.given_up
            .retain(|(at, other)| still(at) && *other != turn);
        self.given_up.push((Instant::now(), turn));
    }

    /// Returns whether a request of another turn was given up, and the server may still ask about it.
    pub(super) fn has_given_up_other(&self, turn: &TurnIdentity) -> bool {
        let mut given_up = self.given_up.iter();
        given_up.any(|(at, other)| at.elapsed() < MEMORY && other != turn)
    }
}

impl Flight {
    /// Returns whether a question of the server is open. Then the server waits for us.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire) > 0
    }

    fn turn(&self) -> Option<TurnIdentity> {
        self.listener.as_ref().map(|listener| listener.turn())
    }

    fn declined(&self, reason: &str) {
        if let Some(listener) = &self.listener {
            listener.declined(reason);
        }
    }

    /// Waits until the server reports progress, or a question is asked or answered.
    pub(super) async fn activity(&self) {
        self.active.notified().await;
    }
}

impl Handler {
    pub(super) fn new(options: ConnectOptions) -> Self {
        Handler {
            options: Arc::new(options),
            sending: Arc::default(),
            flights: Arc::default(),
            tool_changes: watch::Sender::new(0),
            announces: Arc::default(),
        }
    }

    /// Sets whether the server announces each change of its tools.
    pub(super) fn announces(&self, announces: bool) {
        self.announces.store(announces, Ordering::Release);
    }

    pub(super) fn announces_changes(&self) -> bool {
        self.announces.load(Ordering::Acquire)
    }

    /// Notes that the list of tools has changed, or may have.
    pub(super) fn note_change(&self) {
        self.tool_changes.send_modify(|changes| *changes += 1);
    }

    pub(super) fn tool_changes(&self) -> watch::Receiver<u64> {
        self.tool_changes.subscribe()
    }

    /// Sends a request by `send`, and notes that it is in flight before anything is handled that the server sends about it.
    pub(super) async fn enter<E>(
        &self,
        send: impl Future<Output = Result<RequestHandle<RoleClient>, E>>,
        listener: Option<Arc<dyn Listener>>,
    ) -> Result<(RequestHandle<RoleClient>, InFlight), E> {
        let _sending = self.sending.lock().await;
        let handle = send.await?;
        let flight = Arc::new(Flight {
            id: handle.id.clone(),
            token: handle.progress_token.clone(),
            listener,
            asking: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            active: Notify::new(),
        });
        self.flights.lock().open.push(Arc::clone(&flight));
        let in_flight = InFlight {
            handler: self.clone(),
            flight,
            answered: false,
        };
        Ok((handle, in_flight))
    }

    /// Returns the requests in flight.
    async fn flights(&self) -> Vec<Arc<Flight>> {
        drop(self.sending.lock().await);
        self.flights.lock().open.clone()
    }

    /// Returns the request to which a question of the server belongs: the one on whose stream it came, or else the last one, if all
    /// belong to one turn. A question must not reach the user of another turn.
    async fn asked_by(&self, context: &RequestContext<RoleClient>) -> Option<Arc<Flight>> {
        let mut flights = self.flights().await;
        flights.retain(|flight| flight.listener.is_some());
        if let Some(InboundStreamOrigin::OutboundRequest(id)) = context.extensions.get() {
            return flights.into_iter().find(|flight| flight.id == *id);
        }
        let last = flights.last()?.turn()?;
        let mut turns = flights.iter().filter_map(|flight| flight.turn());
        let others_open = turns.any(|turn| turn != last);
        if !others_open && !self.flights.lock().has_given_up_other(&last) {
            return flights.pop();
        }
        for flight in flights {
            flight.declined("several turns call the server, and it does not say which call asks");
        }
        None
    }

    /// Lets a call get what the server asks for. `None` if there is no such call, if it gets nothing, or if the server cancels the
    /// question.
    async fn ask(
        &self,
        context: &RequestContext<RoleClient>,
        method: &'static str,
        params: Value,
    ) -> Option<Value> {
        let flight = self.asked_by(context).await?;
        let listener = flight.listener.clone()?;
        if flight.asked.fetch_add(1, Ordering::AcqRel) >= MAX_QUESTIONS {
            flight.declined(&format!(
                "it asked more than {MAX_QUESTIONS} times during one call"
            ));
            return None;
        }
        let _asking = Asking::begin(&flight);
        tokio::select! {
            input = listener.input(method, params) => input,
            () = context.ct.cancelled() => None,
        }
    }
}

/// Counts an open question until it is dropped.
struct Asking<'f>(&'f Flight);

impl<'f> Asking<'f> {
    fn begin(flight: &'f Flight) -> Self {
        flight.asking.fetch_add(1, Ordering::AcqRel);
        flight.active.notify_one();
        Asking(flight)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.asking.fetch_sub(1, Ordering::AcqRel);
        self.0.active.notify_one();
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut flights = self.handler.flights.lock();
        flights
            .open
            .retain(|flight| !Arc::ptr_eq(flight, &self.flight));
        if let Some(turn) = self.flight.turn().filter(|_| !self.answered) {
            flights.give_up(turn);
        }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = Some(Default::default());
        elicitation.url = Some(Default::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        capabilities.sampling = self.options.sampling.then(Default::default);
        capabilities.roots = self.options.roots.as_ref().map(|_| Default::default());
        let this = Implementation::new("turnwright", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, this)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(request).map_err(|error| invalid(&error))?;
        let reply = self.ask(&context, "elicitation/create", params).await;
        let reply = reply.unwrap_or_else(|| json!({ "action": "decline" }));
        serde_json::from_value(reply).map_err(|error| invalid(&error))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        if !self.options.sampling {
            return Err(ErrorData::method_not_found::<CreateMessageRequestMethod>());
        }
        let params = serde_json::to_value(params).map_err(|error| invalid(&error))?;
        let result = self.ask(&context, "sampling/createMessage", params).await;
        let refused = || ErrorData::new(REJECTED, "the request was refused", None);
        serde_json::from_value(result.ok_or_else(refused)?).map_err(|error| invalid(&error))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let refused = ErrorData::method_not_found::<ListRootsRequestMethod>;
        let roots = self.options.roots.as_ref().ok_or_else(refused)?;
        Ok(ListRootsResult::new(roots.iter().map(Root::new).collect()))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let mut flights = self.flights().await.into_iter();
        let flight = flights.find(|flight| flight.token == progress.progress_token);
        let Some(flight) = flight else { return };
        flight.active.notify_one();
        if let Some(listener) = &flight.listener {
            listener.progress(text_of(&progress));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note_change();
    }
}

fn invalid(error: &serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn text_of(progress: &ProgressNotificationParam) -> String {
    let amount = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    match &progress.message {
        Some(message) => format!("{amount}: {message}"),
        None => amount,
    }
}
