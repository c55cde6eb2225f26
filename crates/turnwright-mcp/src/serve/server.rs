//! The state of a server.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::ErrorData;
use rmcp::model::Extensions;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use turnwright_core::{Cancellation, Principal, Stash, Tool};

use super::McpService;
use super::authentication::Sender;
use super::call::Running;
use super::client::Wanted;
use super::results::Results;
use super::waiting::Waiting;

/// A server, shared by its connections.
pub(super) struct Server {
    pub(super) service: McpService,
    pub(super) results: Results,
    pub(super) waiting: Arc<Waiting>,
    /// One for each running call.
    permits: Arc<Semaphore>,
    /// The number of calls that may run at the same time.
    most: u32,
    queue: Semaphore,
    subscriptions: Semaphore,
    /// Cancels all calls and subscriptions.
    stop: Cancellation,
}

impl Server {
    pub(super) fn new(service: McpService) -> Self {
        let most = service.limits.calls.clamp(1, Semaphore::MAX_PERMITS);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let queue = service.limits.queued_calls.min(Semaphore::MAX_PERMITS);
        let subscriptions = service.limits.subscriptions.min(Semaphore::MAX_PERMITS);
        Server {
            service,
            results: Results::default(),
            waiting: Arc::default(),
            permits: Arc::new(Semaphore::new(most as usize)),
            most,
            queue: Semaphore::new(queue),
            subscriptions: Semaphore::new(subscriptions),
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
        let service = &self.service;
        let (events, reported) = wanted.observe(&service.events);
        let mut context = service
            .context
            .clone()
            .tools(service.tools.fork())
            .stash(Stash::new())
            .events(events)
            .cancellation(stop.clone())
            .inline_limit(service.limits.inline_bytes)
            .max_result_bytes(service.limits.result_bytes);
        if let Some(caller) = caller {
            context = context.principal(caller);
        }
        let context = context.build();
        let gates = context.gates();
        let called = tool.clone();
        let call = async move {
            let record = called.call_and_record(&context, args).await;
            drop(permit);
            record
        };
        Ok(Running::start(tool, call, stop, gates, reported))
    }

    /// Cancels all calls and subscriptions.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the server is stopped.
    pub(super) async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Cancels all calls and waits until they have ended.
    pub(super) async fn end(&self) {
        self.stop();
        // The semaphore is never closed.
        let _ = self.permits.acquire_many(self.most).await;
    }
}
