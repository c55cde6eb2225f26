//! The state of a server.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::ErrorData;
use rmcp::model::Extensions;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use turnwright_core::{Cancellation, Principal, Stash, Tool};

use super::McpService;
use super::authentication::Sender;
use super::call::Running;
use super::notice::{Wanted, observed};
use super::results::Results;
use super::waiting::Waiting;

/// A server, shared by its connections.
pub(super) struct Server {
    pub(super) service: McpService,
    pub(super) results: Results,
    pub(super) waiting: Arc<Waiting>,
    permits: Arc<Semaphore>,
    queue: Semaphore,
    subscriptions: Semaphore,
    /// The number of running calls.
    running: Arc<watch::Sender<usize>>,
    /// Cancels all calls and subscriptions.
    stop: Cancellation,
}

impl Server {
    pub(super) fn new(service: McpService) -> Self {
        let permits = service.limits.calls.clamp(1, Semaphore::MAX_PERMITS);
        let queue = service.limits.queued_calls.min(Semaphore::MAX_PERMITS);
        let subscriptions = service.limits.subscriptions.min(Semaphore::MAX_PERMITS);
        Server {
            service,
            results: Results::default(),
            waiting: Arc::default(),
            permits: Arc::new(Semaphore::new(permits)),
            queue: Semaphore::new(queue),
            subscriptions: Semaphore::new(subscriptions),
            running: Arc::new(watch::channel(0).0),
            stop: Cancellation::new(),
        }
    }

    /// Returns who a request acts for.
    pub(super) fn caller(&self, extensions: &Extensions) -> Option<Principal> {
        let head = extensions.get::<Parts>();
        let sender = head.and_then(|head| head.extensions.get::<Sender>());
        let sender = sender.map(|sender| &sender.0);
        sender.or(self.service.principal.as_ref()).cloned()
    }

    /// Counts a subscription, until the permit is dropped.
    pub(super) fn subscribe(&self) -> Result<SemaphorePermit<'_>, ErrorData> {
        let full = |_| ErrorData::internal_error("Too many subscriptions. Try again later.", None);
        self.subscriptions.try_acquire().map_err(full)
    }

    /// Starts a call, once fewer calls are running than the limit.
    pub(super) async fn start(
        &self,
        tool: Tool,
        args: Value,
        wanted: Wanted,
        caller: Option<Principal>,
    ) -> Result<Running, ErrorData> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let busy = |_| {
                    let message = "The server is busy. Try again later.";
                    ErrorData::internal_error(message, None)
                };
                let _queued = self.queue.try_acquire().map_err(busy)?;
                let permit = Arc::clone(&self.permits).acquire_owned().await;
                permit.map_err(|_| ErrorData::internal_error("The server has ended.", None))?
            }
        };
        let stop = self.stop.child();
        let McpService {
            tools,
            context,
            limits,
            events,
            ..
        } = &self.service;
        let (events, notices) = observed(events, wanted);
        let context = context.clone().tools(tools.fork()).stash(Stash::new());
        let context = context.events(events).cancellation(stop.clone());
        let context = context.inline_limit(limits.inline_bytes);
        let mut context = context.max_result_bytes(limits.result_bytes);
        if let Some(caller) = caller {
            context = context.principal(caller);
        }
        let context = context.build();
        let gates = context.gates();
        let counted = Counted::new(&self.running);
        let called = tool.clone();
        let call = async move {
            let record = called.call_and_record(&context, args).await;
            drop((permit, counted));
            record
        };
        Ok(Running::start(tool, call, stop, gates, notices))
    }

    /// Cancels all calls and subscriptions.
    pub(super) fn stop(&self) {
        self.stop.cancel();
        self.waiting.clear();
    }

    /// Waits until the server is stopped.
    pub(super) async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Cancels all calls and waits until they have ended.
    pub(super) async fn end(&self) {
        self.stop();
        // The sender is in `self`.
        let _ = self.running.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// Counts a running call.
struct Counted(Arc<watch::Sender<usize>>);

impl Counted {
    fn new(running: &Arc<watch::Sender<usize>>) -> Self {
        running.send_modify(|count| *count += 1);
        Counted(Arc::clone(running))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
