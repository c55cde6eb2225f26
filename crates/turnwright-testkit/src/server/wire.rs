//! The connection below hyper: it can be reset, and it reports when all written bytes were flushed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A connection whose [`End`] is decided by the answer.
pub(super) struct Wire {
    pub(super) stream: TcpStream,
    pub(super) end: End,
}

/// How a connection ends. Shared between the connection and the answer.
#[derive(Clone, Default)]
pub(super) struct End(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    reset: bool,
    flushed: bool,
    waiting: Option<Waker>,
}

impl End {
    /// Resets the connection instead of closing it.
    pub(super) fn reset(&self) {
        self.0.lock().reset = true;
    }

    /// Makes [`End::poll_flushed`] wait for the next flush.
    pub(super) fn await_flush(&self) {
        self.0.lock().flushed = false;
    }

    /// Ready when hyper has written everything: it flushes only what it has written, and drops the rest of a failing
    /// connection.
    pub(super) fn poll_flushed(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.flushed {
            return Poll::Ready(());
        }
        state.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    fn flushed(&self) {
        let waiting = {
            let mut state = self.0.lock();
            state.flushed = true;
            state.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    fn is_reset(&self) -> bool {
        self.0.lock().reset
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.end.is_reset() {
            // If the system refuses, the connection is closed normally.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.end.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.end.is_reset() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
