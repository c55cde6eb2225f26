//! A request, and what the server asks for before it has a result.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use turnwright_core::ToolContext;

use super::connection::Connection;
use super::gate;
use crate::definition::harmless;
use crate::protocol::{
    Failure, Listener, MAX_QUESTIONS, Request, Session, TurnIdentity, roots_result,
};

/// How often a server may ask for input during one request.
const MAX_ROUNDS: usize = 10;

/// Maximum length of a progress message.
const MAX_PROGRESS: usize = 500;

/// Sends a request. As long as its result is `input_required`, gets what the server asks for and sends the request again.
/// `session` and `params` are called for each request. `ctx`: the call to which it belongs, if it belongs to one.
pub(super) async fn exchange(
    server: &Arc<Connection>,
    session: impl Fn() -> Result<Arc<dyn Session>, Failure> + Send + Sync,
    method: &'static str,
    params: impl Fn() -> Value + Send,
    ctx: Option<&ToolContext>,
) -> Result<Value, Failure> {
    let limits = &server.config().limits;
    let listener = ctx.map(|ctx| CallListener::new(server, ctx));
    let (mut responses, mut questions) = (Map::new(), 0);
    for round in 0..MAX_ROUNDS {
        server.listed().await;
        let mut params = params();
        if let Some(fields) = params.as_object_mut() {
            fields.append(&mut responses);
        }
        let request = Request {
            method,
            params,
            idle: limits.idle,
            total: limits.call_total,
            listener: listener
                .clone()
                .map(|listener| listener as Arc<dyn Listener>),
        };
        let send = |session: Arc<dyn Session>| {
            let request = request.clone();
            async move { session.request(request).await }
        };
        let sent = server.authorized(&session, send).await;
        let result = match sent {
            Err(failure) if round > 0 => return Err(failure.after_input()),
            sent => sent?.result,
        };
        if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
            return Ok(result);
        }
        let mut inputs = Map::new();
        let requests = result.get("inputRequests").and_then(Value::as_object);
        questions += requests.map_or(0, Map::len);
        if questions > MAX_QUESTIONS {
            break;
        }
        for (key, request) in requests.into_iter().flatten() {
            let method = request.get("method").and_then(Value::as_str);
            let method = method.unwrap_or("nothing");
            let params = request.get("params").cloned().unwrap_or_default();
            let input = match (method, &listener) {
                ("roots/list", _) => server.config().roots.as_deref().map(roots_result),
                (method, Some(listener)) => listener.response(method, params, false).await,
                (_, None) => None,
            };
            // Neither sampling nor roots can be declined in a response.
            let input = input.ok_or_else(|| Failure::Unanswered(harmless(method, 80)))?;
            inputs.insert(key.clone(), input);
        }
        responses.insert("inputResponses".to_owned(), Value::Object(inputs));
        if let Some(state) = result.get("requestState") {
            responses.insert("requestState".to_owned(), state.clone());
        }
    }
    let message = format!(
        "it asked for input more than {MAX_ROUNDS} times, or for more than {MAX_QUESTIONS} inputs"
    );
    Err(Failure::Malformed(message))
}

/// What a call does for its server: it reports progress, and gets what the server asks for.
pub(super) struct CallListener {
    server: Arc<Connection>,
    ctx: ToolContext,
}

impl CallListener {
    pub(super) fn new(server: &Arc<Connection>, ctx: &ToolContext) -> Arc<Self> {
        Arc::new(CallListener {
            server: Arc::clone(server),
            ctx: ctx.clone(),
        })
    }

    /// Returns the response to a request of the server. `hold`: whether the server waits for it on this connection.
    async fn response(&self, method: &str, params: Value, hold: bool) -> Option<Value> {
        let config = self.server.config();
        match method {
            "elicitation/create" => {
                Some(gate::elicit(&params, &config.alias, &self.ctx, hold).await)
            }
            "sampling/createMessage" => {
                let sampler = config.sampler.as_ref()?;
                sampler.sample(&config.alias, params, &self.ctx).await
            }
            _ => None,
        }
    }
}

#[async_trait]
impl Listener for CallListener {
    fn turn(&self) -> TurnIdentity {
        TurnIdentity::of(self.ctx.turn())
    }

    fn progress(&self, message: String) {
        self.ctx.progress(harmless(&message, MAX_PROGRESS));
    }

    fn declined(&self, reason: &str) {
        gate::warn_declined(&self.ctx, &self.server.config().alias, reason);
    }

    async fn input(&self, method: &'static str, params: Value) -> Option<Value> {
        self.response(method, params, true).await
    }
}
