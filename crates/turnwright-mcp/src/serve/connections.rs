//! The connections of an HTTP server.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use super::limits::ServeLimits;

/// Maximum size of the head of a request, and of what is buffered of its body.
const BUFFER: usize = 64 << 10;

/// The end of a longer time may be out of range.
const MAX_READ: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Accepts connections, up to the limit, until the future is dropped. Connections that are open then are closed after the request that
/// they serve, once `stopped` is ready.
///
/// Used instead of `axum::serve`, which has no time limits.
pub(super) async fn serve<S>(
    mut listener: impl Listener,
    router: Router,
    limits: &ServeLimits,
    stopped: impl Fn() -> S,
) where
    S: Future<Output = ()> + Send + 'static,
{
    let limit = limits.connections.clamp(1, Semaphore::MAX_PERMITS);
    let permits = Arc::new(Semaphore::new(limit));
    // The semaphore is never closed.
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let (stream, _) = listener.accept().await;
        let read = limits.read.min(MAX_READ);
        let connection = serve_connection(stream, router.clone(), read, stopped());
        tokio::spawn(async move {
            connection.await;
            drop(permit);
        });
    }
}

fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    read: Duration,
    stopped: impl Future<Output = ()> + Send,
) -> impl Future<Output = ()> + Send {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(read)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    async move {
        let mut connection = pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = stopped => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection has failed");
        }
    }
}
