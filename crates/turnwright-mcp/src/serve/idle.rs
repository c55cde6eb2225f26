//! Ends HTTP sessions that are not in use.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::watch;
use tokio::time::sleep;

use super::open_requests::{OpenRequests, answered_request};

/// What a session is used for.
#[derive(Default)]
struct Usage {
    requests: OpenRequests,
    /// The requests to the client that it has not answered.
    questions: HashSet<RequestId>,
    /// The number of HTTP responses that the client is reading.
    streams: usize,
}

impl Usage {
    /// Returns whether the session is in use neither by a client nor by a call. A call that waits for the answer of a client that has
    /// left would wait for ever, so it does not count.
    fn is_idle(&self) -> bool {
        let is_running = !self.requests.is_empty() && self.questions.is_empty();
        self.streams == 0 && !is_running
    }

    fn received(&mut self, message: &ClientJsonRpcMessage) {
        self.requests.received(message);
        if let Some(id) = answered_request(message) {
            self.questions.remove(id);
        }
        self.forget_questions();
    }

    fn sent(&mut self, message: &ServerJsonRpcMessage) {
        if let JsonRpcMessage::Request(question) = message {
            self.questions.insert(question.id.clone());
        }
        if let Some(id) = answered_request(message) {
            self.requests.answered(id);
        }
        self.forget_questions();
    }

    /// Questions end with the call that asks them, even if they get no answer.
    fn forget_questions(&mut self) {
        if self.requests.is_empty() {
            self.questions.clear();
        }
    }
}

/// Observes the use of one session. Clones observe the same session.
#[derive(Clone, Default)]
pub(super) struct Activity(Arc<watch::Sender<Usage>>);

impl Activity {
    /// Counts an HTTP response that the client is reading, until the guard is dropped.
    pub(super) fn attach(&self) -> Attached {
        self.0.send_modify(|usage| usage.streams += 1);
        Attached(self.clone())
    }

    /// Waits until the session has been idle for this long.
    async fn idle_for(&self, limit: Duration) {
        let mut usage = self.0.subscribe();
        loop {
            // The sender is in `self`.
            let _ = usage.wait_for(Usage::is_idle).await;
            tokio::select! {
                () = sleep(limit) => return,
                _ = usage.changed() => {}
            }
        }
    }
}

/// See [`Activity::attach`].
pub(super) struct Attached(Activity);

impl Drop for Attached {
    fn drop(&mut self) {
        let Attached(Activity(usage)) = self;
        usage.send_modify(|usage| usage.streams = usage.streams.saturating_sub(1));
    }
}

/// The messages of a session, which end when it has been idle for too long.
pub(super) struct IdleTimeout<T> {
    pub(super) transport: T,
    pub(super) activity: Activity,
    pub(super) limit: Duration,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for IdleTimeout<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.activity.0.send_modify(|usage| usage.sent(&message));
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = tokio::select! {
            biased;
            message = self.transport.receive() => message?,
            () = self.activity.idle_for(self.limit) => return None,
        };
        self.activity
            .0
            .send_modify(|usage| usage.received(&message));
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.transport.close().await
    }
}
