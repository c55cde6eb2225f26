//! Streams a body to its reader, within limits.

use std::io;
use std::pin::pin;

use bytes::Bytes;
use futures_util::future::{Either, select};
use reqwest::Response;
use tokio::time::Instant;
use turnwright_core::spool::ByteSender;

use super::failure::{broken, cut_off, too_large, too_slow};
use super::fetcher::Limits;

/// A body that is being transferred.
pub(super) struct Transfer {
    pub(super) host: String,
    pub(super) response: Response,
    pub(super) limits: Limits,
    pub(super) deadline: Option<Instant>,
}

impl Transfer {
    /// Sends the body, then an error if it is incomplete.
    pub(super) async fn feed(self, sender: ByteSender) {
        // Closes the connection before the error waits for the reader, and when the reader is dropped.
        let ended = {
            let (pieces, closed) = (pin!(self.pieces(&sender)), pin!(sender.closed()));
            match select(pieces, closed).await {
                Either::Left((ended, _)) => ended,
                Either::Right(_) => return,
            }
        };
        if let Err(error) = ended {
            // Without a reader there is no one to report to.
            let _ = sender.fail(error).await;
        }
    }

    async fn pieces(mut self, sender: &ByteSender) -> io::Result<()> {
        let (mut got, promised) = (0_u64, self.response.content_length());
        while let Some(piece) = self.next().await? {
            got = got.saturating_add(piece.len() as u64);
            if got > self.limits.max_bytes {
                return Err(too_large(&self.host, self.limits.max_bytes));
            }
            if piece.is_empty() {
                continue;
            }
            match within(self.deadline, sender.send(piece)).await {
                Some(Ok(())) => {}
                Some(Err(_)) => return Ok(()),
                None => return Err(too_slow(&self.host, "timeout")),
            }
        }
        match promised {
            Some(promised) if promised != got => Err(cut_off(&self.host, got, promised)),
            _ => Ok(()),
        }
    }

    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let piece = tokio::time::timeout(self.limits.idle_timeout, self.response.chunk());
        match within(self.deadline, piece).await {
            Some(Ok(piece)) => piece.map_err(|error| broken(&self.host, error)),
            Some(Err(_)) => Err(too_slow(&self.host, "idle_timeout")),
            None => Err(too_slow(&self.host, "timeout")),
        }
    }
}

/// Waits for a future until a deadline. `None` is no deadline.
pub(super) async fn within<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, future).await.ok(),
        None => Some(future.await),
    }
}
