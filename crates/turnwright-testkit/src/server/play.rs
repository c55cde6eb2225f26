//! Plays an answer.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{HeaderName, HeaderValue};

use super::answer::{Answer, Step};
use super::wire::End;

/// Plays the answer up to its head.
///
/// # Errors
/// Fails if there must be no answer: the connection ends.
pub(super) async fn head(answer: Answer, end: End) -> io::Result<Response<Playing>> {
    if answer.delay > Duration::ZERO {
        tokio::time::sleep(answer.delay).await;
    }
    match answer.early {
        Some(Step::Hang) => return std::future::pending().await,
        Some(Step::Close) => return Err(ended()),
        Some(Step::Reset) => {
            end.reset();
            return Err(ended());
        }
        _ => {}
    }
    let answer = check(answer);
    let mut response = Response::new(Playing {
        left: answer.length(),
        steps: answer.steps.into(),
        pause: None,
        ending: false,
        end,
    });
    // Both were validated by `check`.
    if let Ok(status) = answer.status.try_into() {
        *response.status_mut() = status;
    }
    for (name, value) in answer.headers {
        if let Ok((name, value)) = header(&name, &value) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

/// Returns the answer, or one that reports what is invalid about it.
fn check(answer: Answer) -> Answer {
    let status: Result<hyper::StatusCode, _> = answer.status.try_into();
    let bad = answer.headers.iter().find(|(n, v)| header(n, v).is_err());
    let wrong = match (status, bad) {
        (Ok(status), None) if !status.is_informational() => return answer,
        (_, Some((name, _))) => format!("the test answers with an invalid header: `{name}`"),
        _ => format!("the test answers with an invalid status: {}", answer.status),
    };
    Answer::status(500).body(wrong)
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ()> {
    let name = HeaderName::try_from(name).map_err(drop)?;
    Ok((name, HeaderValue::try_from(value).map_err(drop)?))
}

/// The body of an answer.
pub(super) struct Playing {
    steps: VecDeque<Step>,
    /// The number of remaining bytes, if the length was announced.
    left: Option<u64>,
    pause: Option<Pin<Box<tokio::time::Sleep>>>,
    /// The connection is about to end: earlier bytes must be written first.
    ending: bool,
    end: End,
}

impl Playing {
    fn send(&mut self, bytes: Bytes) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(bytes.len() as u64);
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if !std::mem::replace(&mut self.ending, true) {
            self.end.await_flush();
        }
        ready!(self.end.poll_flushed(cx));
        if self.steps.front() == Some(&Step::Reset) {
            self.end.reset();
        }
        Poll::Ready(Some(Err(ended())))
    }
}

impl Body for Playing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        loop {
            if let Some(pause) = &mut this.pause {
                ready!(pause.as_mut().poll(cx));
                this.pause = None;
            }
            match this.steps.front_mut() {
                None => return Poll::Ready(None),
                Some(Step::Hang) => return Poll::Pending,
                Some(Step::Reset | Step::Close) => return this.poll_end(cx),
                Some(Step::Repeat(bytes, times)) if !bytes.is_empty() && *times != Some(0) => {
                    let bytes = bytes.clone();
                    *times = times.map(|left| left - 1);
                    return this.send(bytes);
                }
                Some(Step::Send(_) | Step::Pause(_) | Step::Repeat(..)) => {}
            }
            match this.steps.pop_front() {
                // An empty chunk would end the body.
                Some(Step::Send(bytes)) if !bytes.is_empty() => return this.send(bytes),
                Some(Step::Pause(time)) => this.pause = Some(Box::pin(tokio::time::sleep(time))),
                _ => {}
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        // If the length is not announced, the end must be visible.
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map(SizeHint::with_exact).unwrap_or_default()
    }
}

fn ended() -> io::Error {
    io::Error::other("the connection ends here on request")
}
