//! From an outcome to a record.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::context::CallFacts;
use super::run::{RawOutcome, cut_off};
use crate::artifact::{ArtifactKind, IsText, SpooledArtifact};
use crate::error::{Error, ErrorCode};
use crate::event::EventKind;
use crate::panic::text_of;
use crate::record::{Record, Settled, ToolCall, ToolResults};
use crate::tool::{Body, Content};
use crate::turn::TurnEvent;
use crate::within::{TimeLimit, within};

impl RawOutcome {
    /// Keeps what the handler gave and makes the call a record of its turn. Whether the result stands in the prompt itself
    /// is decided here, once.
    pub async fn settle(self) -> Arc<ToolCall> {
        let RawOutcome {
            facts,
            result,
            closer,
            state,
            started,
        } = self;
        let tool = &facts.tool;
        let mut settled = Settled {
            results: ToolResults::Nothing,
            trusted: tool.is_trusted(),
            inline: true,
            from_artifact_tool: tool.is_artifact_tool(),
            edited: facts.edited.then(|| facts.args.value().clone()),
        };
        match result {
            Ok(output) => {
                settled.trusted &= !output.untrusted;
                let kind = output.kind.unwrap_or(tool.artifact_kind());
                match output.content {
                    Content::Media(media) => settled.results = ToolResults::Media(media),
                    Content::Body(Body::Text(answer)) if settled.from_artifact_tool => {
                        settled.results = ToolResults::Text(answer);
                    }
                    Content::Body(body) => keep(&facts, body, kind, &mut settled).await,
                }
            }
            Err(error) if started => settled.results = failure(&error),
            Err(error) => settled.results = ToolResults::Refusal(error.model_text().to_owned()),
        }
        match closer {
            Some(closer) => {
                let settled = Box::pin(closer.settle(settled, state)).await;
                if facts.call.ctx.is_taken_over() {
                    // No record will ever name it.
                    let spool_id = facts.call.ctx.spool_id(facts.call.id.as_str());
                    let _ = facts.call.ctx.spool().delete(&spool_id).await;
                }
                // Where nobody wanted a record there is none.
                settled.unwrap_or_else(|| facts.record(Settled::refusal("")))
            }
            // It came to nothing before it was put on record.
            None => {
                let record = facts.record(settled);
                let records = vec![Record::ToolCall(Arc::clone(&record))];
                let ctx = &facts.call.ctx;
                let says = TurnEvent::ToolCall(Arc::clone(&record));
                ctx.put_on_record(records, vec![says]).await;
                record
            }
        }
    }
}

/// Spools what the handler gave, and decides where it stands.
async fn keep(facts: &CallFacts, body: Body, kind: ArtifactKind, settled: &mut Settled) {
    match kept(facts, body, kind).await {
        Ok((artifact, inline)) => {
            settled.inline = inline;
            settled.results = ToolResults::Artifacts(vec![artifact]);
        }
        Err(error) => {
            // The handler's own end was told as a good one.
            facts.call.ctx.tell(|| EventKind::Error {
                code: error.code().as_str(),
                fatal: error.is_fatal(),
                message: format!("`{}`: {}", facts.tool.name(), error.with_causes()),
                pipeline: None,
            });
            settled.results = failure(&error);
            settled.trusted = false;
        }
    }
}

/// Within the time of its call, and not past a cancellation. The spool and its readers are foreign code: a panic in them is a
/// failure to keep.
async fn kept(
    facts: &CallFacts,
    body: Body,
    kind: ArtifactKind,
) -> Result<(SpooledArtifact, bool), Error> {
    let (ctx, now) = (&facts.call.ctx, Instant::now());
    let waited = facts.waits.so_far();
    let deadline = facts.deadline.and_then(|end| end.checked_add(waited));
    let left = deadline.map(|end| end.saturating_duration_since(now));
    let work = AssertUnwindSafe(spool(facts, body, kind)).catch_unwind();
    match within(TimeLimit::from_now(left), ctx.cancellation(), work).await {
        Ok(Ok(Ok(kept))) => Ok(kept),
        Ok(Ok(Err(error))) => {
            Err(Error::new(ErrorCode::Spool, "the result could not be kept").with_source(error))
        }
        Ok(Err(panic)) => {
            let message = format!("the spool panicked: {}", text_of(panic));
            Err(Error::new(ErrorCode::Spool, message))
        }
        Err(cut) => Err(cut_off(cut, &facts.tool, true)),
    }
}

async fn spool(
    facts: &CallFacts,
    body: Body,
    kind: ArtifactKind,
) -> io::Result<(SpooledArtifact, bool)> {
    let ctx = &facts.call.ctx;
    let (inline, limit) = (facts.tool.inline(), ctx.inline_limit());
    let text = IsText::of(&body, inline.most(limit));
    let spool_id = ctx.spool_id(facts.call.id.as_str());
    let reader = ctx.spool().put(&spool_id, body).await?;
    let spool_id = ctx.spool().reopens().then_some(spool_id.into());
    let artifact = SpooledArtifact::kept_as(spool_id, reader, kind);
    let inline = inline.decide(limit, text, &artifact).await;
    Ok((artifact, inline))
}

/// The most bytes of a failure that stand in a prompt: it is never a handle.
const LONGEST_FAILURE: usize = 8 * 1024;

fn failure(error: &Error) -> ToolResults {
    let text = error.model_text();
    let kept = text.floor_char_boundary(LONGEST_FAILURE);
    let left_out = text.len() - kept;
    let kept = text.get(..kept).unwrap_or(text);
    ToolResults::Failure(match left_out {
        0 => kept.to_owned(),
        _ => format!("{kept}… ({left_out} more bytes were left out)"),
    })
}

impl CallFacts {
    fn record(&self, settled: Settled) -> Arc<ToolCall> {
        ToolCall::open(self.call.request.clone(), self.call_id).closed(settled)
    }
}
