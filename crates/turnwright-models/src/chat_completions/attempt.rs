//! A request and its response, with retries.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::time::{Instant, Sleep, sleep_until};
use turnwright_core::event::Level;
use turnwright_core::{DispatchContext, Error, ErrorCode, ErrorKind};

use super::adapter::Adapter;
use super::decode::{Collector, Decoder, Reply};
use super::failure::Failure;
use super::live_output::LiveOutput;
use super::quirks::Quirks;
use crate::http::{self, Request};
use crate::retry::Next;

/// A response as far as it arrived, and what was streamed of it.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) reply: Reply,
    pub(super) output: LiveOutput,
    /// When the request of the last attempt was sent.
    pub(super) sent: Instant,
    /// Why the last attempt failed.
    pub(super) failed: Option<Error>,
}

impl Adapter {
    /// Sends a request and retries it as the policy allows. `write` is called again when the server shows a quirk.
    pub(super) async fn exchange(
        &self,
        ctx: &DispatchContext,
        write: impl Fn(Quirks) -> String + Sync,
    ) -> Exchange {
        let mut attempts = self.settings.retry.begin();
        let mut output = LiveOutput::new(ctx);
        let mut quirks = *self.quirks.lock();
        let mut body = Bytes::from(write(quirks));
        let mut collector = Collector::default();
        let mut sent;
        let failed = loop {
            sent = Instant::now();
            let attempt = self.attempt(body.clone(), &mut output, &mut collector);
            let Err(failure) = attempt.await else {
                let mut known = self.quirks.lock();
                *known = known.union(quirks);
                break None;
            };
            let error = failure.error;
            let learned = quirks.union(failure.quirks);
            let rewritten = Bytes::from(write(learned));
            // If nothing changes, the quirk is not the cause.
            if learned != quirks && rewritten != body {
                let message = format!("retrying with {learned:?}: {error}");
                ctx.log(Level::Info, message);
                (quirks, body) = (learned, rewritten);
                collector = Collector::default();
                continue;
            }
            let next = match failure.retryable {
                true => attempts.next(failure.retry_after),
                false => Next::NoMore,
            };
            let wait = match (next, attempts.made()) {
                (Next::After(wait), _) => wait,
                (Next::NoMore, 1) => break Some(error),
                (Next::NoMore, made) => {
                    break Some(error.with_detail(&format!(" (after {made} attempts)")));
                }
                (Next::TooLong(asked), _) => {
                    let note = format!(
                        " (the server asks to wait {} seconds, which is more than `longest_wait` allows)",
                        asked.as_secs()
                    );
                    break Some(error.with_detail(&note));
                }
            };
            let (made, millis) = (attempts.made() - 1, wait.as_millis());
            let message = format!(
                "attempt {made} failed, the next follows in {millis} ms: {}",
                error.with_causes()
            );
            ctx.log(Level::Warn, message);
            output.restart();
            tokio::time::sleep(wait).await;
            collector = Collector::default();
        };
        Exchange {
            reply: collector.into_reply(),
            output,
            sent,
            failed,
        }
    }

    /// Makes one attempt. The collector has everything that arrived, even after a failure.
    async fn attempt(
        &self,
        body: Bytes,
        output: &mut LiveOutput,
        collector: &mut Collector,
    ) -> Result<(), Failure> {
        let deadline = from_now(self.settings.request_timeout);
        let mut request = Request::new(self.endpoint.clone(), body);
        request.headers.clone_from(&self.headers);
        let mut alarm = pin!(sleep_until(
            deadline.min(from_now(self.settings.idle_timeout))
        ));
        let sent = until(deadline, alarm.as_mut(), self.transport.send(request)).await;
        let mut response = sent
            .ok_or_else(|| too_long(self.settings.request_timeout))?
            .map_err(|error| Failure::interrupted(self.without_secrets(error)))?;
        if !(200..300).contains(&response.status) {
            return Err(Box::pin(self.error_response(response)).await);
        }
        let mut decoder = Decoder::new(response.header("content-type"))
            .max_event(self.settings.max_event)
            .max_body(self.settings.max_body);
        let (mut deltas, mut size) = (Vec::new(), 0_usize);
        let mut grace_end = None;
        let rest = loop {
            let mut silence = from_now(self.settings.idle_timeout);
            if collector.partial().has_ended() {
                // The rest, usually the usage, follows immediately.
                silence =
                    *grace_end.get_or_insert(from_now(self.settings.idle_timeout.min(MAX_GRACE)));
            }
            let due = silence.min(deadline);
            let piece = match until(due, alarm.as_mut(), response.body.next()).await {
                Some(piece) => piece,
                None if collector.partial().has_ended() => return Ok(()),
                None if silence < deadline => return Err(silent(self.settings.idle_timeout)),
                None => return Err(too_long(self.settings.request_timeout)),
            };
            let broke = matches!(piece, Some(Err(_)));
            let read = match &piece {
                Some(Ok(bytes)) => {
                    size += bytes.len();
                    match size > self.settings.max_body {
                        true => Err(too_large(self.settings.max_body)),
                        false => decoder.push(bytes, &mut deltas),
                    }
                }
                Some(Err(error)) => Err(error.clone()),
                None => decoder.finish(&mut deltas),
            };
            for delta in &deltas {
                output.show(delta).await;
            }
            collector.extend(deltas.drain(..));
            match read {
                // The response was complete before the connection broke. A server error still counts, and so does an
                // unreadable event after calls, because it may have cancelled them.
                Err(error)
                    if error.code() != ErrorCode::MODEL_SERVER_ERROR
                        && collector.partial().has_ended()
                        && (broke || collector.partial().tool_calls.is_empty()) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(Failure::interrupted(self.without_secrets(error))),
                // The body has ended.
                Ok(()) if piece.is_none() => break None,
                Ok(()) if collector.partial().done => break Some(response.body),
                Ok(()) => {}
            }
        };
        let rest = rest.and_then(if_open);
        // Another task returns the connection to the pool. Let it run before the next request.
        tokio::task::yield_now().await;
        if let Some(rest) = rest.and_then(if_open) {
            drain(rest);
        }
        let reply = collector.partial();
        match reply.done || reply.finish_reason.is_some() {
            true => Ok(()),
            false => Err(Failure::interrupted(Error::new(
                ErrorCode::MODEL_RESPONSE_INCOMPLETE,
                "the response ended before it was complete: there is no finish reason",
            ))),
        }
    }

    /// Returns the error without secrets, including its causes.
    fn without_secrets(&self, error: Error) -> Error {
        let message = error.with_causes();
        let clean = self.redacted(&message);
        match clean == message {
            true => error,
            false => Error::new(error.code(), clean).with_kind(error.kind()),
        }
    }
}

/// Returns the deadline; a limit that overflows is treated as a year.
fn from_now(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + A_YEAR)
}

/// The maximum wait for the end of a response that is already complete.
const MAX_GRACE: Duration = Duration::from_secs(5);

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Waits for `work` until `due`. One timer serves all pieces: if it fires early it is reset, which is far cheaper
/// than one timer per piece.
async fn until<T>(
    due: Instant,
    mut alarm: Pin<&mut Sleep>,
    work: impl Future<Output = T>,
) -> Option<T> {
    if alarm.deadline() > due {
        alarm.as_mut().reset(due);
    }
    let mut work = pin!(work);
    poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        while alarm.as_mut().poll(cx).is_ready() {
            if Instant::now() >= due {
                return Poll::Ready(None);
            }
            alarm.as_mut().reset(due);
        }
        Poll::Pending
    })
    .await
}

/// Polls a body once after the response is complete: a connection is reused only after the end of the body. Returns
/// `None` if the body has ended.
fn if_open(mut body: http::Body) -> Option<http::Body> {
    match body.next().now_or_never() {
        Some(None | Some(Err(_))) => None,
        Some(Some(Ok(_))) | None => Some(body),
    }
}

/// Reads a body to its end in the background.
fn drain(mut body: http::Body) {
    tokio::spawn(tokio::time::timeout(DRAIN_TIMEOUT, async move {
        for _ in 0..MAX_DRAINED {
            if !matches!(body.next().await, Some(Ok(_))) {
                return;
            }
        }
    }));
}

const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_DRAINED: usize = 16;

fn too_long(limit: Duration) -> Failure {
    timeout(format!(
        "the model server did not finish within {limit:?}: allow more with `request_timeout`"
    ))
}

fn silent(limit: Duration) -> Failure {
    timeout(format!(
        "the model server was silent for {limit:?} in the middle of a response: allow more with `idle_timeout`"
    ))
}

fn timeout(message: String) -> Failure {
    Failure::interrupted(Error::new(ErrorCode::MODEL_TIMEOUT, message))
}

fn too_large(limit: usize) -> Error {
    let message =
        format!("the response is larger than {limit} bytes: allow more with `max_response_bytes`");
    Error::new(ErrorCode::WIRE_ERROR, message).with_kind(ErrorKind::Internal)
}
