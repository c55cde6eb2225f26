//! The requests of a client that were not answered yet.

use std::collections::HashSet;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
};

#[derive(Debug, Default)]
pub(super) struct OpenRequests(HashSet<RequestId>);

impl OpenRequests {
    /// Notes a message of the client. Returns whether the set has changed.
    pub(super) fn received(&mut self, message: &ClientJsonRpcMessage) -> bool {
        match message {
            // It stays open until the client leaves.
            JsonRpcMessage::Request(request) if is_subscription(&request.request) => false,
            JsonRpcMessage::Request(request) => self.0.insert(request.id.clone()),
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                // It gets no answer.
                ClientNotification::CancelledNotification(cancelled) => {
                    let id = cancelled.params.request_id.as_ref();
                    id.is_some_and(|id| self.answered(id))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Notes the answer to a request. Returns whether it was open.
    pub(super) fn answered(&mut self, id: &RequestId) -> bool {
        self.0.remove(id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the request that a message answers.
pub(super) fn answered_request<Req, Resp, Not>(
    message: &JsonRpcMessage<Req, Resp, Not>,
) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

fn is_subscription(request: &ClientRequest) -> bool {
    matches!(request, ClientRequest::SubscriptionsListenRequest(_))
}
