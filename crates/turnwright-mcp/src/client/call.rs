//! A call of a remote tool.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use turnwright_core::schema::Schema;
use turnwright_core::{Effects, Tool, ToolContext, ToolError, ToolOutput};

use super::supervisor::{State, Supervised};
use super::{gate, result};
use crate::definition::harmless;
use crate::protocol::{Elicitation, ElicitationAnswer, Failure, Listener, Request, Session};

/// How often a server may ask for input during one call.
const MAX_ROUNDS: usize = 10;

/// Maximum length of a progress message.
const MAX_PROGRESS: usize = 500;

/// A tool of a server.
pub(super) struct RemoteTool {
    pub(super) server: Arc<Supervised>,
    pub(super) name: String,
    pub(super) pin: String,
    pub(super) output_schema: Option<Schema>,
    pub(super) effects: Effects,
}

/// Runs a call.
pub(super) async fn run(
    tool: Arc<RemoteTool>,
    args: Value,
    ctx: ToolContext,
) -> Result<ToolOutput, ToolError> {
    let alias = &tool.server.config().alias;
    let failed = |failure: Failure| tool_error(&failure, alias);
    // A call that changes nothing can be repeated on a new connection.
    let session = match tool.effects {
        Effects::ReadOnly => tool.session().ok(),
        _ => None,
    };
    let result = match (tool.call(&args, &ctx).await, session) {
        (Err(Failure::Lost(why)), Some(lost)) => match tool.server.reconnected(&lost).await {
            true => tool.call(&args, &ctx).await,
            false => Err(Failure::Lost(why)),
        },
        (result, _) => result,
    };
    let links = tool.server.config().resources;
    let result = result.map_err(failed)?;
    result::output(&result, tool.output_schema.as_ref(), alias, links)
}

impl RemoteTool {
    async fn call(&self, args: &Value, ctx: &ToolContext) -> Result<Value, Failure> {
        let mut answered = Map::new();
        for _ in 0..MAX_ROUNDS {
            self.server.listed().await;
            let mut params = answered;
            params.insert("name".to_owned(), self.name.as_str().into());
            params.insert("arguments".to_owned(), args.clone());
            let limits = &self.server.config().limits;
            let request = Request {
                method: "tools/call",
                params: Value::Object(params),
                idle: limits.idle,
                total: limits.call_total,
                listener: Some(CallListener::new(&self.server, ctx)),
            };
            let request = self.server.request(|| self.session(), request);
            let result = request.await?.result;
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return Ok(result);
            }
            let answers = self.answer(&result, ctx).await;
            answered = Map::from_iter([("inputResponses".to_owned(), Value::Object(answers))]);
            if let Some(state) = result.get("requestState") {
                answered.insert("requestState".to_owned(), state.clone());
            }
        }
        let message = format!("it asked for input more than {MAX_ROUNDS} times");
        Err(Failure::Malformed(message))
    }

    /// Returns the connection, if the server still has this very definition.
    fn session(&self) -> Result<Arc<dyn Session>, Failure> {
        let State::Ready(ready) = self.server.state() else {
            return self.server.session();
        };
        let same = |tool: &Tool| tool.version() == Some(&self.pin);
        let why = match (ready.is_current(), ready.tools.iter().any(same)) {
            (true, true) => return Ok(Arc::clone(&ready.session)),
            (false, _) => "the server has announced that its tools have changed",
            (true, false) => "the definition of the tool has changed",
        };
        Err(Failure::NotSent(why.to_owned()))
    }

    /// Answers the questions of an `input_required` result.
    async fn answer(&self, result: &Value, ctx: &ToolContext) -> Map<String, Value> {
        let mut answers = Map::new();
        let requests = result.get("inputRequests").and_then(Value::as_object);
        for (key, request) in requests.into_iter().flatten() {
            let is_question =
                request.get("method").and_then(Value::as_str) == Some("elicitation/create");
            let question = request.get("params").and_then(gate::read);
            let answer = match question.filter(|_| is_question) {
                Some(question) => {
                    gate::ask(question, &self.server.config().alias, ctx, false).await
                }
                // Sampling and roots.
                None => ElicitationAnswer::Decline,
            };
            answers.insert(
                key.clone(),
                match answer {
                    ElicitationAnswer::Accept(Some(content)) => {
                        json!({ "action": "accept", "content": content })
                    }
                    ElicitationAnswer::Accept(None) => json!({ "action": "accept" }),
                    ElicitationAnswer::Decline => json!({ "action": "decline" }),
                    ElicitationAnswer::Cancel => json!({ "action": "cancel" }),
                },
            );
        }
        answers
    }
}

/// Reports progress of a call and asks its questions.
pub(super) struct CallListener {
    alias: String,
    ctx: ToolContext,
}

impl CallListener {
    pub(super) fn new(server: &Supervised, ctx: &ToolContext) -> Arc<Self> {
        Arc::new(CallListener {
            alias: server.config().alias.clone(),
            ctx: ctx.clone(),
        })
    }
}

#[async_trait]
impl Listener for CallListener {
    fn progress(&self, message: String) {
        self.ctx.progress(harmless(&message, MAX_PROGRESS));
    }

    async fn elicit(&self, question: Elicitation) -> ElicitationAnswer {
        gate::ask(question, &self.alias, &self.ctx, true).await
    }
}

pub(super) fn tool_error(failure: &Failure, alias: &str) -> ToolError {
    let message = format!("the MCP server `{alias}`: {failure}");
    match failure {
        Failure::Rejected { message: text, .. } => {
            let text = harmless(text, 2_000);
            ToolError::internal(message).for_model(format!("The server rejected the call: {text}"))
        }
        Failure::Timeout(_) => ToolError::timeout(message).for_model(
            "The server did not answer in time. The call may or may not have taken effect. Check before you repeat it.",
        ),
        Failure::Lost(_) | Failure::Malformed(_) => ToolError::unavailable(message).for_model(
            "The server failed during the call. It may or may not have taken effect. Check before you repeat it.",
        ),
        Failure::NotConnected(_) | Failure::NotSent(_) => ToolError::unavailable(message)
            .for_model("The call was not sent: the tool is not available now."),
        Failure::Unauthorised(_) | Failure::NotAuthorised(_) => ToolError::denied(message)
            .for_model("The server requires authorisation. The call was not made."),
    }
}
