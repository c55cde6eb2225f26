//! Reads the bodies of HTTP requests within limits of size and time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::BytesMut;
use futures_util::StreamExt as _;
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
    _permits: Option<Arc<OwnedSemaphorePermit>>,
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
        let body = std::mem::take(request.body_mut());
        let (status, why) = (
            StatusCode::REQUEST_TIMEOUT,
            "The request was not sent in time.",
        );
        let read = timeout(self.time, self.collect(body)).await;
        let (body, reserved) = read.map_err(|_| refuse(status, why))??;
        *request.body_mut() = Body::from(body.freeze());
        request.extensions_mut().insert(reserved);
        Ok(request)
    }

    /// Reads a body. Only bytes that have arrived count: a client that announces many and sends none takes no room from others.
    async fn collect(&self, body: Body) -> Result<(BytesMut, Reserved), Response> {
        let too_large = || refuse(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large.");
        if body.size_hint().lower() > self.most.into() {
            return Err(too_large());
        }
        let mut pieces = body.into_data_stream();
        let (mut read, mut permits) = (BytesMut::new(), None::<OwnedSemaphorePermit>);
        while let Some(piece) = pieces.next().await {
            let piece =
                piece.map_err(|_| refuse(StatusCode::BAD_REQUEST, "The request is incomplete."))?;
            let size = u32::try_from(piece.len()).map_err(|_| too_large())?;
            if read.len() + piece.len() > self.most as usize {
                return Err(too_large());
            }
            let permit = Arc::clone(&self.bytes).try_acquire_many_owned(size);
            let permit = permit.map_err(|_| {
                let why = "Too many requests are unfinished. Try again later.";
                refuse(StatusCode::SERVICE_UNAVAILABLE, why)
            })?;
            match &mut permits {
                Some(permits) => permits.merge(permit),
                None => permits = Some(permit),
            }
            read.extend_from_slice(&piece);
        }
        let reserved = Reserved {
            _permits: permits.map(Arc::new),
        };
        Ok((read, reserved))
    }
}

fn refuse(status: StatusCode, why: &'static str) -> Response {
    (status, why).into_response()
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
