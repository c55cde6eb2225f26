//! A request and its response, with retries.

use std::pin::pin;

use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};
use turnwright_core::event::Level;
use turnwright_core::{DispatchContext, Error};
use url::Url;

use super::codec::{Encoded, Quirks};
use super::failure::Failure;
use super::live_output::LiveOutput;
use super::per_turn::warn_once;
use super::reading::{Reading, from_now, too_long, until};
use super::server::Server;
use super::think_tags::ThinkTags;
use crate::decode::{Collector, Decoder, Reply};
use crate::http::Request;
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

impl Server {
    /// Sends a request and retries it as the policy allows. `write` is called again when the server shows a quirk.
    pub(super) async fn exchange(
        &self,
        ctx: &DispatchContext,
        url: &Url,
        write: impl Fn(Quirks) -> Encoded + Sync,
    ) -> Exchange {
        let mut attempts = self.settings.retry.begin();
        let mut output = LiveOutput::new(ctx);
        let mut quirks = *self.quirks.lock();
        let Encoded { body, warning } = write(quirks);
        if let Some(warning) = warning {
            warn_once(ctx, warning);
        }
        let mut body = Bytes::from(body);
        let mut collector = Collector::default();
        let mut state = Map::new();
        let mut sent;
        let failed = loop {
            sent = Instant::now();
            let mut request = Request::new(url.clone(), body.clone());
            request.headers.clone_from(&self.headers);
            let attempt = self.attempt(request, &mut output, &mut collector, &mut state);
            let Err(failure) = attempt.await else {
                let mut known = self.quirks.lock();
                *known = known.union(quirks);
                break None;
            };
            let error = failure.error;
            let learned = quirks.union(failure.quirks);
            let rewritten = Bytes::from(write(learned).body);
            // If nothing changes, the quirk is not the cause.
            if learned != quirks && rewritten != body {
                let names = learned.names(self.codec.info().quirks);
                let message = format!("retrying for a server with these quirks ({names}): {error}");
                ctx.log(Level::Info, message);
                (quirks, body) = (learned, rewritten);
                collector = Collector::default();
                continue;
            }
            let next = if failure.retryable {
                attempts.next(failure.retry_after)
            } else {
                Next::NoMore
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
        let mut reply = collector.into_reply();
        reply.state = state;
        Exchange {
            reply,
            output,
            sent,
            failed,
        }
    }

    /// Makes one attempt. The collector has everything that arrived, even after a failure.
    async fn attempt(
        &self,
        request: Request,
        output: &mut LiveOutput,
        collector: &mut Collector,
        state: &mut Map<String, Value>,
    ) -> Result<(), Failure> {
        let deadline = from_now(self.settings.request_timeout);
        let mut alarm = pin!(sleep_until(
            deadline.min(from_now(self.settings.idle_timeout))
        ));
        let sent = until(deadline, alarm.as_mut(), self.transport.send(request)).await;
        let response = sent
            .ok_or_else(|| too_long(self.settings.request_timeout))?
            .map_err(|error| Failure::interrupted(self.without_secrets(error)))?;
        if !(200..300).contains(&response.status) {
            return Err(Box::pin(self.error_response(response)).await);
        }
        let codec = &*self.codec;
        let content_type = response.header("content-type");
        let mut decoder = Decoder::new(codec.reader(), codec.info().framing, content_type)
            .max_event(self.settings.max_event)
            .max_body(self.settings.max_body);
        let reading = Reading {
            server: self,
            decoder: &mut decoder,
            output,
            collector,
            think_tags: self.settings.think_tags.then(ThinkTags::default),
            deadline,
        };
        let result = reading.run(response.body, alarm).await;
        *state = decoder.take_state();
        result
    }

    /// Returns the error without secrets, including its causes.
    pub(super) fn without_secrets(&self, error: Error) -> Error {
        let message = error.with_causes();
        let clean = self.redacted(&message);
        if clean == message {
            error
        } else {
            Error::new(error.code(), clean).with_kind(error.kind())
        }
    }
}
