//! What a server sends on its own: progress, questions, announcements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, Implementation, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, RequestId,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext};
use tokio::sync::{Notify, watch};

use super::{Elicitation, ElicitationAnswer, Listener};

/// How many questions a server may ask the user during one request.
const MAX_QUESTIONS: usize = 20;

/// The client's side of a connection. A handle: clones share their state.
#[derive(Clone)]
pub(super) struct Handler {
    flights: Arc<Mutex<Vec<Arc<Flight>>>>,
    tool_changes: watch::Sender<u64>,
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
}

impl Flight {
    /// Returns whether a question of the server is open. Then the server waits for us.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire) > 0
    }

    /// Waits until the server reports progress, or a question is asked or answered.
    pub(super) async fn activity(&self) {
        self.active.notified().await;
    }
}

impl Handler {
    pub(super) fn new() -> Self {
        Handler {
            flights: Arc::default(),
            tool_changes: watch::Sender::new(0),
        }
    }

    pub(super) fn tool_changes(&self) -> watch::Receiver<u64> {
        self.tool_changes.subscribe()
    }

    /// Notes that a request is in flight.
    pub(super) fn enter(
        &self,
        id: RequestId,
        token: ProgressToken,
        listener: Option<Arc<dyn Listener>>,
    ) -> InFlight {
        let flight = Arc::new(Flight {
            id,
            token,
            listener,
            asking: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            active: Notify::new(),
        });
        self.flights.lock().push(Arc::clone(&flight));
        InFlight {
            handler: self.clone(),
            flight,
        }
    }

    /// Returns the request to which a question of the server belongs: the one on whose stream it came, or the only one.
    fn asked_by(&self, context: &RequestContext<RoleClient>) -> Option<Arc<Flight>> {
        let flights = self.flights.lock();
        let mut candidates = flights.iter().filter(|flight| flight.listener.is_some());
        match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => {
                candidates.find(|flight| flight.id == *id).cloned()
            }
            // Servers with sessions often ask on a stream of its own.
            Some(InboundStreamOrigin::Unassociated) | None => {
                match (candidates.next(), candidates.next()) {
                    (Some(only), None) => Some(Arc::clone(only)),
                    // The protocol does not say which one asks.
                    _ => None,
                }
            }
        }
    }

    async fn ask(
        &self,
        question: Elicitation,
        context: &RequestContext<RoleClient>,
    ) -> ElicitationAnswer {
        let Some(flight) = self.asked_by(context) else {
            return ElicitationAnswer::Decline;
        };
        let Some(listener) = &flight.listener else {
            return ElicitationAnswer::Decline;
        };
        if flight.asked.fetch_add(1, Ordering::AcqRel) >= MAX_QUESTIONS {
            return ElicitationAnswer::Decline;
        }
        let _asking = Asking::begin(&flight);
        tokio::select! {
            answer = listener.elicit(question) => answer,
            () = context.ct.cancelled() => ElicitationAnswer::Cancel,
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
        flights.retain(|flight| !Arc::ptr_eq(flight, &self.flight));
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = Some(Default::default());
        elicitation.url = Some(Default::default());
        capabilities.elicitation = Some(elicitation);
        let this = Implementation::new("turnwright", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, this)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let question = match request {
            ElicitRequestParams::FormElicitationParams {
                message,
                requested_schema,
                ..
            } => {
                let schema = serde_json::to_value(requested_schema);
                let schema =
                    schema.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
                Elicitation::Form { message, schema }
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                Elicitation::Url { message, url }
            }
            _ => return Ok(ElicitResult::new(ElicitationAction::Decline)),
        };
        Ok(match self.ask(question, &context).await {
            ElicitationAnswer::Accept(content) => {
                let accepted = ElicitResult::new(ElicitationAction::Accept);
                match content {
                    Some(content) => accepted.with_content(content),
                    None => accepted,
                }
            }
            ElicitationAnswer::Decline => ElicitResult::new(ElicitationAction::Decline),
            ElicitationAnswer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let flight = {
            let flights = self.flights.lock();
            let mut flights = flights.iter();
            flights
                .find(|flight| flight.token == progress.progress_token)
                .cloned()
        };
        let Some(flight) = flight else { return };
        flight.active.notify_one();
        if let Some(listener) = &flight.listener {
            listener.progress(text_of(&progress));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tool_changes.send_modify(|changes| *changes += 1);
    }
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
