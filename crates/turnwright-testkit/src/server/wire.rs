//! The connection below hyper: it can be reset, and it tells when all that was written has left.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A connection whose [`End`] the answer decides.
pub(super) struct Wire {
    pub(super) stream: TcpStream,
    pub(super) end: End,
}

/// How a connection ends: shared between the connection and the answer that is played over it.
#[derive(Clone, Default)]
pub(super) struct End(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    reset: bool,
    flushed: bool,
    waiting: Option<Waker>,
}

impl End {
    /// It is reset instead of closed.
    pub(super) fn reset(&self) {
        self.0.lock().reset = true;
    }

    /// From now on [`End::poll_flushed`] waits for the next time that nothing is left to be written.
    pub(super) fn await_flush(&self) {
        self.0.lock().flushed = false;
    }

    /// Ready when hyper has written all it was given: it flushes only what it has written, and drops the rest of a
    /// connection that fails.
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
            // Where the system refuses, the connection is closed all the same.
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
