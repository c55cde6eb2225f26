//! A request and its response, with as many attempts as it takes.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::time::{Instant, Sleep, sleep_until};
use turnwright_core::event::Level;
use turnwright_core::{DispatchContext, Error, ErrorCode, ErrorKind};

use super::builder::Adapter;
use super::decode::{Collector, Decoder, Reply};
use super::failure::Failure;
use super::habits::Habits;
use super::live::Live;
use crate::http::{self, Request};
use crate::retry::Next;

/// A response as far as it came, and what was shown of it.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) reply: Reply,
    pub(super) live: Live,
    /// Why nothing more came, and no further attempt was made.
    pub(super) failed: Option<Error>,
}

impl Adapter {
    /// Asks until there is an answer, as often as may be. The request is written again where the server turns out to have a
    /// habit that it was not written for.
    pub(super) async fn ask(
        &self,
        ctx: &DispatchContext,
        write: impl Fn(&Habits) -> String + Sync,
    ) -> Asked {
        let mut attempts = self.retry.begin();
        let mut live = Live::new(ctx);
        let habits = self.habits.for_one();
        let mut body = Bytes::from(write(&habits));
        loop {
            let mut collector = Collector::default();
            let failure = match self.attempt(body.clone(), &mut live, &mut collector).await {
                Ok(()) => {
                    self.habits.learn_all(&habits);
                    let reply = collector.into_reply();
                    return Asked {
                        reply,
                        live,
                        failed: None,
                    };
                }
                Err(failure) => failure,
            };
            let mut error = failure.error;
            if let Some(habit) = failure.habit {
                habits.learn(habit);
                let written = Bytes::from(write(&habits));
                // If nothing changes, it was not that.
                if written != body {
                    let message =
                        format!("the server is asked in another way ({habit:?}): {error}");
                    ctx.log(Level::Info, message);
                    body = written;
                    continue;
                }
            }
            let next = match failure.again {
                true => attempts.next(failure.after),
                false => Next::NoMore,
            };
            let wait = match next {
                Next::After(wait) => wait,
                Next::NoMore => {
                    let made = attempts.made();
                    if made > 1 {
                        error = error.saying(&format!(" (after {made} attempts)"));
                    }
                    let reply = collector.into_reply();
                    return Asked {
                        reply,
                        live,
                        failed: Some(error),
                    };
                }
                Next::TooLong(asked) => {
                    let told = format!(
                        " (it asks to wait {} seconds, which is more than `longest_wait` allows)",
                        asked.as_secs()
                    );
                    let reply = collector.into_reply();
                    let failed = Some(error.saying(&told));
                    return Asked {
                        reply,
                        live,
                        failed,
                    };
                }
            };
            let (made, millis) = (attempts.made() - 1, wait.as_millis());
            let message = format!(
                "attempt {made} failed, the next follows in {millis} ms: {}",
                error.with_causes()
            );
            ctx.log(Level::Warn, message);
            Box::pin(live.restart()).await;
            tokio::time::sleep(wait).await;
        }
    }

    /// One attempt. Whatever came is in the collector.
    async fn attempt(
        &self,
        body: Bytes,
        live: &mut Live,
        collector: &mut Collector,
    ) -> Result<(), Failure> {
        let deadline = from_now(self.request_timeout);
        let mut request = Request::new(self.endpoint.clone(), body);
        request.headers.clone_from(&self.headers);
        let mut alarm = pin!(sleep_until(deadline.min(from_now(self.idle_timeout))));
        let sent = unless_due(deadline, alarm.as_mut(), self.transport.send(request)).await;
        let mut response = sent
            .ok_or_else(|| too_long(self.request_timeout))?
            .map_err(|error| Failure::broken(self.without_secrets(error)))?;
        if !(200..300).contains(&response.status) {
            return Err(Box::pin(self.refused(response)).await);
        }
        let mut decoder = Decoder::new(response.header("content-type"))
            .max_frame(self.max_frame)
            .max_body(self.max_body);
        let (mut deltas, mut size) = (Vec::new(), 0_usize);
        let mut said_all = None;
        let rest = loop {
            let mut silence = from_now(self.idle_timeout);
            if collector.so_far().has_ended() {
                // What may follow, most often the usage, follows at once.
                silence = *said_all.get_or_insert(from_now(self.idle_timeout.min(LONGEST_GRACE)));
            }
            let due = silence.min(deadline);
            let piece = match unless_due(due, alarm.as_mut(), response.body.next()).await {
                Some(piece) => piece,
                None if collector.so_far().has_ended() => return Ok(()),
                None if silence < deadline => return Err(silent(self.idle_timeout)),
                None => return Err(too_long(self.request_timeout)),
            };
            size += piece
                .as_ref()
                .map_or(0, |it| it.as_ref().map_or(0, Bytes::len));
            let broke = matches!(piece, Some(Err(_)));
            let read = match &piece {
                Some(Ok(_)) if size > self.max_body => Err(too_large(self.max_body)),
                Some(Ok(bytes)) => decoder.push(bytes, &mut deltas),
                Some(Err(error)) => Err(error.clone()),
                None => decoder.finish(&mut deltas),
            };
            for delta in &deltas {
                live.show(delta).await;
            }
            collector.extend(deltas.drain(..));
            match read {
                // All was said before the connection broke. What the server itself takes back was not said, and calls are not
                // made if an event after them cannot be read: it may have taken them back.
                Err(error)
                    if error.code() != ErrorCode::ModelServer
                        && collector.so_far().has_ended()
                        && (broke || collector.so_far().tool_calls.is_empty()) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(Failure::broken(self.without_secrets(error))),
                // A body that has ended is asked for nothing more.
                Ok(()) if piece.is_none() => break None,
                Ok(()) if collector.so_far().done => break Some(response.body),
                Ok(()) => {}
            }
        };
        let rest = rest.and_then(unless_ended);
        // The connection is given back by a task of its own, which the next request must not overtake.
        tokio::task::yield_now().await;
        if let Some(rest) = rest.and_then(unless_ended) {
            drain(rest);
        }
        let reply = collector.so_far();
        match reply.done || reply.finish_reason.is_some() {
            true => Ok(()),
            false => Err(Failure::broken(Error::new(
                ErrorCode::ResponseIncomplete,
                "the response ended before it was whole: there is no finish reason",
            ))),
        }
    }

    /// The error without anything that is secret here, also in its causes.
    fn without_secrets(&self, error: Error) -> Error {
        let said = error.with_causes();
        let clean = self.scrubbed(&said);
        match clean == said {
            true => error,
            false => Error::new(error.code(), clean).with_kind(error.kind()),
        }
    }
}

/// A limit beyond all time is as good as a year.
fn from_now(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + A_YEAR)
}

/// How long a response is waited for in which all was said.
const LONGEST_GRACE: Duration = Duration::from_secs(5);

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Waits for something until it is due. Where the alarm is earlier than that it is set anew once it rings, which costs far
/// less than one for each piece.
async fn unless_due<T>(
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

/// Asks for what is left of a body after all was said, most often its end: a connection is used again only then. `None` if
/// that has come.
fn unless_ended(mut body: http::Body) -> Option<http::Body> {
    match body.next().now_or_never() {
        Some(None | Some(Err(_))) => None,
        Some(Some(Ok(_))) | None => Some(body),
    }
}

/// Reads a body to its end. Nobody waits for it.
fn drain(mut body: http::Body) {
    tokio::spawn(tokio::time::timeout(LONGEST_DRAIN, async move {
        for _ in 0..MOST_DRAINED {
            if !matches!(body.next().await, Some(Ok(_))) {
                return;
            }
        }
    }));
}

const LONGEST_DRAIN: Duration = Duration::from_secs(1);
const MOST_DRAINED: usize = 16;

fn too_long(limit: Duration) -> Failure {
    let message = format!(
        "the model server did not finish within {limit:?}: allow more with `request_timeout`"
    );
    Failure::broken(Error::new(ErrorCode::ModelTimeout, message))
}

fn too_large(limit: usize) -> Error {
    let message =
        format!("the response is larger than {limit} bytes: allow more with `max_response_bytes`");
    Error::new(ErrorCode::Wire, message).with_kind(ErrorKind::Internal)
}

fn silent(limit: Duration) -> Failure {
    let message = format!(
        "the model server was silent for {limit:?} in the middle of a response: allow more with `idle_timeout`"
    );
    Failure::broken(Error::new(ErrorCode::ModelTimeout, message))
}
