//! Reads one response: its pieces, with timeouts and limits.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{Instant, Sleep};
use turnwright_core::{Error, ErrorCode, ErrorKind};

use super::failure::Failure;
use super::live_output::LiveOutput;
use super::server::Server;
use super::think_tags::ThinkTags;
use crate::decode::{Collector, Decoder};
use crate::http::Body;

/// A response that is being read.
pub(super) struct Reading<'a> {
    pub(super) server: &'a Server,
    pub(super) decoder: &'a mut Decoder,
    pub(super) output: &'a mut LiveOutput,
    /// Has everything that arrived, even after a failure.
    pub(super) collector: &'a mut Collector,
    pub(super) think_tags: Option<ThinkTags>,
    pub(super) deadline: Instant,
}

impl Reading<'_> {
    /// Reads the response to its end.
    pub(super) async fn run(
        mut self,
        mut body: Body,
        mut alarm: Pin<&mut Sleep>,
    ) -> Result<(), Failure> {
        let (mut deltas, mut size) = (Vec::new(), 0_usize);
        let mut grace_end = None;
        let settings = &self.server.settings;
        let rest = loop {
            let mut silence = from_now(settings.idle_timeout);
            if self.has_ended() {
                // The rest, usually the usage, follows immediately.
                silence = *grace_end.get_or_insert(from_now(settings.idle_timeout.min(MAX_GRACE)));
            }
            let due = silence.min(self.deadline);
            let piece = match until(due, alarm.as_mut(), body.next()).await {
                Some(piece) => piece,
                None if self.has_ended() => return Ok(()),
                None if silence < self.deadline => return Err(silent(settings.idle_timeout)),
                None => return Err(too_long(settings.request_timeout)),
            };
            let broke = matches!(piece, Some(Err(_)));
            let read = match &piece {
                Some(Ok(bytes)) => {
                    size += bytes.len();
                    if size > settings.max_body {
                        Err(too_large(settings.max_body))
                    } else {
                        self.decoder.push(bytes, &mut deltas)
                    }
                }
                Some(Err(error)) => Err(error.clone()),
                None => self.decoder.finish(&mut deltas),
            };
            if let Some(tags) = &mut self.think_tags {
                tags.split(&mut deltas);
            }
            for delta in &deltas {
                self.output.show(delta).await;
            }
            self.collector.extend(deltas.drain(..));
            match read {
                // The response was complete before the connection broke. A server error still counts, and so does an
                // unreadable event after calls, because it may have cancelled them.
                Err(error)
                    if error.code() != ErrorCode::MODEL_SERVER_ERROR
                        && self.has_ended()
                        && (broke || self.collector.partial().tool_calls.is_empty()) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(Failure::interrupted(self.server.without_secrets(error))),
                // The body has ended.
                Ok(()) if piece.is_none() => break None,
                Ok(()) if self.collector.partial().done => break Some(body),
                Ok(()) => {}
            }
        };
        let rest = rest.and_then(if_open);
        // Another task returns the connection to the pool. Let it run before the next request.
        tokio::task::yield_now().await;
        if let Some(rest) = rest.and_then(if_open) {
            drain(rest);
        }
        let reply = self.collector.partial();
        if reply.done || reply.finish_reason.is_some() {
            Ok(())
        } else {
            Err(Failure::interrupted(Error::new(
                ErrorCode::MODEL_RESPONSE_INCOMPLETE,
                "the response ended before it was complete: there is no finish reason",
            )))
        }
    }

    /// Returns `true` if the response is complete even if its end never arrives.
    fn has_ended(&self) -> bool {
        self.server.codec.info().finish_is_last && self.collector.partial().has_ended()
    }
}

/// Returns the deadline; a limit that overflows is treated as a year.
pub(super) fn from_now(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + A_YEAR)
}

/// The maximum wait for the end of a response that is already complete.
const MAX_GRACE: Duration = Duration::from_secs(5);

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Waits for `work` until `due`. One timer serves all pieces: if it fires early it is reset, which is far cheaper
/// than one timer per piece.
pub(super) async fn until<T>(
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
fn if_open(mut body: Body) -> Option<Body> {
    match body.next().now_or_never() {
        Some(None | Some(Err(_))) => None,
        Some(Some(Ok(_))) | None => Some(body),
    }
}

/// Reads a body to its end in the background.
fn drain(mut body: Body) {
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

pub(super) fn too_long(limit: Duration) -> Failure {
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
