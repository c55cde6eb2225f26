//! Who sends the requests of an HTTP server.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use turnwright_core::Principal;

use super::session_limit::LimitedSessions;

/// Tells who sends a request.
pub(super) type Authenticator =
    Arc<dyn Fn(Parts) -> BoxFuture<'static, Option<Principal>> + Send + Sync>;

/// The sender of a request. `rmcp` keeps the extensions of a request with its message.
#[derive(Clone)]
pub(super) struct Sender(pub(super) Principal);

/// Refuses requests without a principal, and requests that use the session of another one.
pub(super) async fn authenticate(
    State((authenticator, sessions)): State<(Authenticator, Arc<LimitedSessions>)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    let principal = authenticator(head.clone()).await;
    let Some(principal) = principal.and_then(|principal| principal.checked().ok()) else {
        let challenge = [(WWW_AUTHENTICATE, "Bearer")];
        let why = "The request is not authenticated.";
        return (StatusCode::UNAUTHORIZED, challenge, why).into_response();
    };
    let session = session_id(&head.headers);
    if session.is_some_and(|id| !sessions.is_open_to(id, &principal)) {
        return (StatusCode::NOT_FOUND, "There is no such session.").into_response();
    }
    head.extensions.insert(Sender(principal.clone()));
    let response = next.run(Request::from_parts(head, body)).await;
    if let Some(opened) = session_id(response.headers()) {
        sessions.belongs_to(opened, principal);
    }
    response
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id")?.to_str().ok()
}
