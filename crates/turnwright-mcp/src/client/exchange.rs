//! A request, and what the server asks for before it has a result.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use turnwright_core::ToolContext;

use super::gate;
use super::sampling::Sampler;
use super::supervisor::Supervised;
use crate::definition::harmless;
use crate::protocol::{
    Elicitation, ElicitationAnswer, Failure, Listener, MAX_QUESTIONS, Request, Session,
    TurnIdentity, roots_result,
};

/// How often a server may ask for input during one request.
const MAX_ROUNDS: usize = 10;

/// Maximum length of a progress message.
const MAX_PROGRESS: usize = 500;

/// Sends a request. As long as its result is `input_required`, answers what the server asks for and sends the request again.
/// `session` and `params` are called for each request. `ctx`: the call to which it belongs, if it belongs to one.
pub(super) async fn exchange(
    server: &Supervised,
    session: impl Fn() -> Result<Arc<dyn Session>, Failure> + Send + Sync,
    method: &'static str,
    params: impl Fn() -> Map<String, Value> + Send,
    ctx: Option<&ToolContext>,
) -> Result<Value, Failure> {
    let limits = &server.config().limits;
    let (mut answered, mut questions) = (Map::new(), 0);
    for round in 0..MAX_ROUNDS {
        server.listed().await;
        let mut params = params();
        params.append(&mut answered);
        let request = Request {
            method,
            params: Value::Object(params),
            idle: limits.idle,
            total: limits.call_total,
            listener: ctx.map(|ctx| CallListener::new(server, ctx) as Arc<dyn Listener>),
        };
        let sent = server.request(&session, request).await;
        let sent = sent.map_err(|failure| match round {
            0 => failure,
            _ => failure.after_input(),
        });
        let result = sent?.result;
        if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
            return Ok(result);
        }
        let mut answers = Map::new();
        let requests = result.get("inputRequests").and_then(Value::as_object);
        questions += requests.map_or(0, Map::len);
        if questions > MAX_QUESTIONS {
            break;
        }
        for (key, request) in requests.into_iter().flatten() {
            answers.insert(key.clone(), answer(server, request, ctx).await?);
        }
        answered.insert("inputResponses".to_owned(), Value::Object(answers));
        if let Some(state) = result.get("requestState") {
            answered.insert("requestState".to_owned(), state.clone());
        }
    }
    let message = format!(
        "it asked for input more than {MAX_ROUNDS} times, or for more than {MAX_QUESTIONS} answers"
    );
    Err(Failure::Malformed(message))
}

/// Answers one of the requests of an `input_required` result.
async fn answer(
    server: &Supervised,
    request: &Value,
    ctx: Option<&ToolContext>,
) -> Result<Value, Failure> {
    let config = server.config();
    let method = request.get("method").and_then(Value::as_str);
    let params = request.get("params").unwrap_or(&Value::Null);
    let answer = match (method.unwrap_or_default(), ctx) {
        ("elicitation/create", Some(ctx)) => {
            let answer = match gate::read(params) {
                Some(question) => gate::ask(question, &config.alias, ctx, false).await,
                None => {
                    gate::warn_declined(ctx, &config.alias, "it is of an unknown kind");
                    ElicitationAnswer::Decline
                }
            };
            Some(match answer {
                ElicitationAnswer::Accept(Some(content)) => {
                    json!({ "action": "accept", "content": content })
                }
                ElicitationAnswer::Accept(None) => json!({ "action": "accept" }),
                ElicitationAnswer::Decline => json!({ "action": "decline" }),
                ElicitationAnswer::Cancel => json!({ "action": "cancel" }),
            })
        }
        ("sampling/createMessage", Some(ctx)) => match &config.sampler {
            Some(sampler) => sampler.sample(&config.alias, params.clone(), ctx).await,
            None => None,
        },
        ("roots/list", _) => config.roots.as_deref().map(roots_result),
        _ => None,
    };
    // Neither sampling nor roots can be declined in an answer.
    answer.ok_or_else(|| Failure::Unanswered(harmless(method.unwrap_or("nothing"), 80)))
}

/// Reports the progress of a call, and answers what the server asks during it.
pub(super) struct CallListener {
    alias: String,
    sampler: Option<Sampler>,
    ctx: ToolContext,
}

impl CallListener {
    pub(super) fn new(server: &Supervised, ctx: &ToolContext) -> Arc<Self> {
        Arc::new(CallListener {
            alias: server.config().alias.clone(),
            sampler: server.config().sampler.clone(),
            ctx: ctx.clone(),
        })
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
        gate::warn_declined(&self.ctx, &self.alias, reason);
    }

    async fn elicit(&self, question: Elicitation) -> ElicitationAnswer {
        gate::ask(question, &self.alias, &self.ctx, true).await
    }

    async fn sample(&self, params: Value) -> Option<Value> {
        let sampler = self.sampler.as_ref()?;
        sampler.sample(&self.alias, params, &self.ctx).await
    }
}
