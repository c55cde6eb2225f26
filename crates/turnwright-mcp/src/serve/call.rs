//! Runs a call and passes on what it reports and asks.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ContentBlock};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use turnwright_core::event::Event;
use turnwright_core::gate::{Gates, OpenGate};
use turnwright_core::{Cancellation, Tool, ToolCall};

use super::client::{Client, Need};
use super::gate::{Question, answer_or_refuse, refusal};
use super::listing;
use super::server::Server;
use super::waiting::WaitingCall;

/// A call that runs in its own task. Dropping this cancels the call, which then settles by itself.
pub(super) struct Running {
    tool: Tool,
    done: JoinHandle<Arc<ToolCall>>,
    stop: Cancellation,
    gates: Gates,
    /// Whether the call is being polled.
    polled: watch::Receiver<bool>,
    events: mpsc::Receiver<Event>,
    /// The record, once the call has ended.
    ended: Option<Result<Arc<ToolCall>, ErrorData>>,
    /// Gates that the client was not asked about yet.
    opened: Vec<OpenGate>,
    /// The number of progress notifications.
    progress: u32,
    /// What the call needed and the client does not support.
    missing: Option<Need>,
}

/// What a call does next.
enum Step {
    Ended(Result<Arc<ToolCall>, ErrorData>),
    /// It waits at these gates.
    Asks(Vec<OpenGate>),
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Running {
    /// Starts a call.
    pub(super) fn start(
        tool: Tool,
        call: impl Future<Output = Arc<ToolCall>> + Send + 'static,
        stop: Cancellation,
        gates: Gates,
        events: mpsc::Receiver<Event>,
    ) -> Self {
        let (polling, polled) = watch::channel(true);
        let call = async move {
            let mut call = pin!(call);
            poll_fn(|cx| {
                polling.send_replace(true);
                let poll = call.as_mut().poll(cx);
                polling.send_replace(false);
                poll
            })
            .await
        };
        Running {
            tool,
            done: tokio::spawn(call),
            stop,
            gates,
            polled,
            events,
            ended: None,
            opened: Vec::new(),
            progress: 0,
            missing: None,
        }
    }

    pub(super) fn gates(&self) -> &Gates {
        &self.gates
    }

    /// Waits until the call has ended or waits at new gates. Sends what it reports meanwhile.
    ///
    /// # Cancel safety
    /// If the future is dropped, at most one event is lost.
    async fn step(&mut self, client: &Client) -> Step {
        loop {
            if self.ended.is_some() {
                while let Ok(event) = self.events.try_recv() {
                    client.notify(event, &mut self.progress).await;
                }
            }
            if let Some(ended) = self.ended.take() {
                return Step::Ended(ended);
            }
            if !self.opened.is_empty() {
                // A handler may open several gates at once: wait until it waits.
                let _ = self.polled.wait_for(|polled| !polled).await;
                while let Some(Some(gate)) = self.gates.next().now_or_never() {
                    self.opened.push(gate);
                }
                // An approver of the service may have answered meanwhile.
                let open = self.gates.open();
                let mut opened = std::mem::take(&mut self.opened);
                opened.retain(|gate| open.iter().any(|other| other.id == gate.id));
                if !opened.is_empty() {
                    return Step::Asks(opened);
                }
            }
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => client.notify(event, &mut self.progress).await,
                ended = &mut self.done => {
                    let failed = |_| ErrorData::internal_error("The call failed.", None);
                    self.ended = Some(ended.map_err(failed));
                }
                () = client.cancelled(), if !self.stop.is_cancelled() => self.stop.cancel(),
                Some(gate) = self.gates.next() => self.opened.push(gate),
            }
        }
    }

    /// Returns the question of a gate, or settles the gate if the client cannot be asked.
    fn question(&mut self, client: &Client, gate: &OpenGate) -> Option<Question> {
        let is_excluded = client.caller.as_ref().is_some_and(|caller| {
            let excluded = gate.question.get("notBy").and_then(Value::as_array);
            excluded.is_some_and(|by| by.iter().any(|by| *by == caller.as_str()))
        });
        let why = match Question::of(gate) {
            _ if is_excluded => "another principal must approve it".to_owned(),
            Ok(question) if client.supports(question.need) => return Some(question),
            Ok(question) => {
                if gate.tool().is_none() {
                    self.missing = Some(question.need);
                }
                "the client does not support such questions".to_owned()
            }
            Err(why) => why,
        };
        // It may have been closed meanwhile.
        let _ = self.gates.answer(&*gate.id, refusal(gate, &why));
        None
    }
}

impl Server {
    /// Calls a tool for a client.
    pub(super) async fn call_tool(
        self: &Arc<Self>,
        request: CallToolRequestParams,
        client: &Client,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = Value::Object(request.arguments.unwrap_or_default());
        let name = &*request.name;
        if let Some(token) = &request.request_state {
            let same = |call: &WaitingCall| {
                call.tool == name && call.args == args && call.caller == client.caller
            };
            let taken = self.waiting.take(token, same);
            let mut call = taken.ok_or_else(|| {
                let message = "`requestState` is unknown, has expired, or belongs to another call. \
                               Call the tool again without it.";
                ErrorData::invalid_params(message, None)
            })?;
            call.answer(request.input_responses.unwrap_or_default());
            return self.call_without_session(call, client).await;
        }
        let tool = listing::find(&self.service.tools, name)?;
        let caller = client.caller.clone();
        let running = tokio::select! {
            running = self.start(tool, args.clone(), client.wanted(), caller.clone()) => running?,
            () = client.cancelled() => return Err(ErrorData::internal_error("The call was cancelled.", None)),
        };
        if !client.is_modern() {
            return self.call_in_session(running, client).await;
        }
        let call = WaitingCall {
            caller,
            running,
            tool: name.to_owned(),
            args,
            asked: BTreeMap::new(),
            deadline: None,
        };
        self.call_without_session(call, client).await
    }

    /// Runs a call to its end. The client answers questions meanwhile.
    async fn call_in_session(
        &self,
        mut running: Running,
        client: &Client,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut asked = FuturesUnordered::new();
        loop {
            tokio::select! {
                step = running.step(client) => match step {
                    Step::Ended(record) => return self.finish(&running, client, record?).await,
                    Step::Asks(gates) => for gate in gates {
                        if let Some(question) = running.question(client, &gate) {
                            asked.push(async move {
                                let reply = client.ask(question.request.clone()).await;
                                (gate, question, reply)
                            });
                        }
                    },
                },
                Some((gate, question, reply)) = asked.next(), if !asked.is_empty() => {
                    let malformed = || "the client's answer is malformed".to_owned();
                    let read = |reply| question.read(reply, client.caller.as_ref());
                    let answer = reply.and_then(|reply| read(reply).ok_or_else(malformed));
                    let answer = answer.unwrap_or_else(|why| refusal(&gate, &why));
                    answer_or_refuse(&running.gates, &gate, answer);
                }
            }
        }
    }

    /// Runs a call until it ends or needs answers, which the client sends with its next request.
    async fn call_without_session(
        self: &Arc<Self>,
        mut call: WaitingCall,
        client: &Client,
    ) -> Result<CallToolResponse, ErrorData> {
        while call.asked.is_empty() {
            match call.running.step(client).await {
                Step::Ended(record) => return self.finish(&call.running, client, record?).await,
                Step::Asks(gates) => {
                    for gate in gates {
                        if let Some(question) = call.running.question(client, &gate) {
                            call.ask(gate.kind.as_str(), gate.id, question);
                        }
                    }
                }
            }
        }
        let asked = self.waiting.put(call, &self.service.limits);
        let asked = asked.map_err(|_| ErrorData::internal_error("No randomness.", None))?;
        Ok(CallToolResponse::InputRequired(asked))
    }

    async fn finish(
        &self,
        running: &Running,
        client: &Client,
        record: Arc<ToolCall>,
    ) -> Result<CallToolResponse, ErrorData> {
        match running.missing {
            // In sessions there is no such error: the result says it.
            Some(need) if record.is_error() && client.is_modern() => Err(need.missing()),
            _ => {
                let mut result = self.content(&running.tool, &record).await;
                if !client.knows_links() {
                    // A text has the URI too.
                    let is_link = |block: &ContentBlock| block.as_resource_link().is_some();
                    result.content.retain(|block| !is_link(block));
                }
                Ok(CallToolResponse::Complete(result))
            }
        }
    }
}
