//! Reads the bodies of HTTP requests within limits of size and time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::limits::ServeLimits;

/// What all requests share.
#[derive(Clone)]
pub(super) struct Bodies {
    /// Maximum size of one body.
    most: u32,
    time: Duration,
    /// One permit for each byte.
    bytes: Arc<Semaphore>,
}

/// The bytes of a request. `rmcp` keeps the extensions of a request with its message, so they count until the message was handled.
#[derive(Clone)]
struct Reserved {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Bodies {
    pub(super) fn new(limits: &ServeLimits) -> Self {
        let most = u32::try_from(limits.request_bytes).unwrap_or(u32::MAX);
        // One request always fits.
        let all = limits.requests_bytes.max(most as usize);
        Bodies {
            most,
            time: limits.read,
            bytes: Arc::new(Semaphore::new(all.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Reads the body of a request.
    ///
    /// # Errors
    /// Returns the answer to a request that is too large or too slow, or for which there is no room.
    async fn read(&self, mut request: Request) -> Result<Request, Response> {
        let refuse = |status: StatusCode, why: &'static str| (status, why).into_response();
        let too_large = || refuse(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large.");
        // A body without a length may be as large as the limit.
        let size = request.body().size_hint();
        let size = size
            .upper()
            .unwrap_or_else(|| size.lower().max(self.most.into()));
        let size = u32::try_from(size).ok().filter(|size| *size <= self.most);
        let size = size.ok_or_else(too_large)?;
        let permit = Arc::clone(&self.bytes).try_acquire_many_owned(size);
        let permit = permit.map_err(|_| {
            let why = "Too many requests are unfinished. Try again later.";
            refuse(StatusCode::SERVICE_UNAVAILABLE, why)
        })?;
        let body = std::mem::take(request.body_mut());
        let body = timeout(self.time, to_bytes(body, size as usize)).await;
        let body = body.map_err(|_| {
            let why = "The request was not sent in time.";
            refuse(StatusCode::REQUEST_TIMEOUT, why)
        })?;
        *request.body_mut() = Body::from(body.map_err(|_| too_large())?);
        request.extensions_mut().insert(Reserved {
            _permit: Arc::new(permit),
        });
        Ok(request)
    }
}

/// Reads the body of a request before it is handled.
pub(super) async fn read_body(
    State(bodies): State<Bodies>,
    request: Request,
    next: Next,
) -> Response {
    match bodies.read(request).await {
        Ok(request) => next.run(request).await,
        Err(refused) => refused,
    }
}
