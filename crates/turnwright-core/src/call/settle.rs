//! Turns outcomes into records, also of calls that ran elsewhere.
//!
//! Whether a result is inline is decided here, once. Small results are stored in the record: up to 4 KiB, inline
//! results up to 64 KiB.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::{io, str};

use bytes::BytesMut;

use super::guard::{CallGuard, cut_off};
use super::proposed::Call;
use super::results::{has_hooks, through_hooks};
use super::run::Ran;
use super::spool::content_of;
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::deadline::within;
use crate::error::{Error, ErrorCode};
use crate::event::EventKind;
use crate::media::Media;
use crate::record::{CallState, Record, Settled, ToolCall, ToolResults};
use crate::schema::shortened;
use crate::spool::{Body, ByteStream};
use crate::tool::context::{Mark, ToolContext};
use crate::tool::{Content, IntoToolResult, Tool, ToolOutput};

impl Ran {
    /// Stores the result and records the call. Decides whether the result is inlined into the prompt.
    pub(crate) async fn settle(self) -> Arc<ToolCall> {
        let Ran {
            call,
            result,
            guard,
            state,
            started,
        } = self;
        let (tool, read) = (call.tool(), call.reads().so_far());
        let mut settled = Settled {
            // What a turn under the call has read, it may repeat.
            trusted: read.tier.is_none(),
            from_artifact_tool: tool.is_artifact_tool(),
            private: started && read.private,
            edited: call.edited_args(),
            ..Settled::default()
        };
        // Ids of bytes that other records may refer to.
        let mut named: Vec<String> = Vec::new();
        match result {
            Ok(output) => {
                settled.trusted &= !output.untrusted;
                settled.private |= output.private;
                if let Err(error) = store_output(&call, output, &mut settled, &mut named).await {
                    not_stored(&call, &error, &mut settled);
                }
            }
            Err(error) if started => settled.results = failure(&error),
            Err(error) => settled.results = ToolResults::Refusal(error.model_text().to_owned()),
        }
        if started && call.is_quarantined() {
            call.quarantine(&mut settled);
        }
        let (dispatch, turn) = (call.dispatch(), call.turn());
        // A call that was refused before it was recorded has no guard.
        let guard = guard.unwrap_or_else(|| CallGuard::new(dispatch, call.record(), true));
        let settled = Box::pin(guard.settle(settled, state)).await;
        if turn.journal().is(Mark::TakenOver) {
            // No stored record will refer to its bytes.
            let record = Record::ToolCall(Arc::clone(&settled));
            let is_own = |id: &&str| !named.iter().any(|other| other == id);
            for id in record.spool_ids().filter(is_own) {
                let _ = turn.spool().delete(id).await;
            }
        }
        settled
    }
}

/// Stores the output and updates `settled`. Adds the ids of bytes that other records may refer to to `named`.
async fn store_output(
    call: &ToolContext,
    output: ToolOutput,
    settled: &mut Settled,
    named: &mut Vec<String>,
) -> Result<(), Error> {
    let (tool, turn) = (call.tool(), call.turn());
    let most = tool.max_result_bytes();
    let most = most.unwrap_or(turn.setup().max_result_bytes);
    let mut kind = output.kind;
    if !output.attachments.is_empty() {
        let ids = output.attachments.iter().filter_map(Media::spool_id);
        named.extend(ids.map(str::to_owned));
        let stored = turn.store_media(output.attachments);
        settled.attachments = in_time(call, stored).await?;
    }
    let body = match output.content {
        Content::Media(media) => {
            let ids = media.iter().filter_map(Media::spool_id);
            named.extend(ids.map(str::to_owned));
            settled.results = ToolResults::Media(in_time(call, turn.store_media(media)).await?);
            return Ok(());
        }
        Content::Artifact(artifact) => {
            let artifact = kind.map_or_else(|| artifact.clone(), |kind| artifact.of_kind(kind));
            let fits = artifact.byte_length() <= most && !settled.from_artifact_tool;
            if fits && turn.may_share(&artifact) {
                named.extend(artifact.spool_id().map(str::to_owned));
                let inline = async { Ok(is_inline(call, &artifact).await) };
                settled.inline = Some(in_time(call, inline).await?);
                settled.results = ToolResults::Artifacts(vec![artifact]);
                return Ok(());
            }
            kind = Some(artifact.kind());
            content_of(&artifact)
        }
        Content::Body(body) => body,
    };
    let (body, truncated) = body.bounded(most);
    match body {
        Body::Text(answer) if settled.from_artifact_tool => {
            settled.results = ToolResults::Text(answer);
        }
        body => {
            let kind = kind.unwrap_or(tool.artifact_kind());
            let (artifact, inline) = in_time(call, store(call, body, kind)).await?;
            settled.inline = Some(inline);
            settled.results = ToolResults::Artifacts(vec![artifact]);
        }
    }
    settled.truncated = truncated.load(Ordering::Acquire);
    if settled.truncated {
        let (id, tool) = (call.id(), tool.name());
        turn.warn(format!(
            "the result of call `{id}` of `{tool}` was truncated at {most} bytes: return less, or increase `max_result_bytes` of the tool or the runner"
        ));
    }
    Ok(())
}

/// The result of a call whose output could not be stored.
fn not_stored(call: &ToolContext, error: &Error, settled: &mut Settled) {
    // The end event of the handler reported success.
    call.turn().emit(|| EventKind::Error {
        code: error.code().as_str(),
        fatal: error.is_fatal(),
        // The causes may quote a stream that no hook has seen.
        message: if has_hooks(call) {
            format!("`{}`: {}", call.tool().name(), error.message())
        } else {
            format!("`{}`: {}", call.tool().name(), error.with_causes())
        },
        pipeline: None,
    });
    settled.results = failure(error);
    settled.attachments = Vec::new();
    settled.trusted = false;
}

/// Runs within the timeout of the call, until cancelled.
async fn in_time<T>(
    call: &ToolContext,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, Error> {
    let cancellation = call.dispatch().cancellation();
    let done = within(call.time_limit(), cancellation, work).await;
    let stored = done.map_err(|cut| cut_off(cut, call.tool(), true))?;
    stored.map_err(|error| {
        Error::new(ErrorCode::SPOOL_ERROR, "the result could not be stored").with_source(error)
    })
}

/// An inline result of at most this many bytes is stored in the record of its call instead of the spool.
const MAX_INLINE_IN_RECORD: usize = 64 * 1024;
/// So is any other result of at most this many bytes.
const MAX_IN_RECORD: usize = 4 * 1024;

/// Stores the output, small content in the record and other content in the spool, and decides whether it is inline.
async fn store(
    call: &ToolContext,
    body: Body,
    kind: ArtifactKind,
) -> io::Result<(SpooledArtifact, bool)> {
    let turn = call.turn();
    let decide = |length: usize| {
        let inline = call.inline();
        inline.decide(turn.inline_limit(), length as u64)
    };
    let body = match body {
        Body::Stream(stream) => begin(stream, MAX_INLINE_IN_RECORD).await?,
        body => body,
    };
    let (length, inline) = match &body {
        Body::Text(text) => (text.len(), decide(text.len()).unwrap_or(true)),
        Body::Bytes(bytes) => {
            let is_text = || str::from_utf8(bytes).is_ok();
            (bytes.len(), decide(bytes.len()).unwrap_or_else(is_text))
        }
        Body::Stream(_) => (usize::MAX, false),
    };
    let most_in_record = if inline {
        MAX_INLINE_IN_RECORD
    } else {
        MAX_IN_RECORD
    };
    let is_stream = matches!(body, Body::Stream(_));
    let body = match body {
        Body::Text(text) if length <= most_in_record => {
            return Ok((SpooledArtifact::in_memory(text, kind), inline));
        }
        Body::Bytes(bytes) if length <= most_in_record => {
            return Ok((SpooledArtifact::in_memory(bytes, kind), inline));
        }
        body => body,
    };
    let spool_id = turn.spool_id(call.id());
    let artifact = turn.spool_artifact(&spool_id, body, kind).await?;
    let inline = if is_stream {
        is_inline(call, &artifact).await
    } else {
        inline
    };
    Ok((artifact, inline))
}

/// Returns whether an artifact is inline.
async fn is_inline(call: &ToolContext, artifact: &SpooledArtifact) -> bool {
    let (inline, limit) = (call.inline(), call.turn().inline_limit());
    match inline.decide(limit, artifact.byte_length()) {
        Some(inline) => inline,
        // Bytes that cannot be read now may be readable later.
        None => match artifact.as_bytes().await {
            Ok(bytes) => str::from_utf8(&bytes).is_ok(),
            Err(_) => false,
        },
    }
}

/// Reads a stream to its end. If it has more than `most` bytes, returns it as a stream from the beginning.
async fn begin(mut stream: ByteStream, most: usize) -> io::Result<Body> {
    let mut first = BytesMut::new();
    while first.len() <= most {
        match stream.next().await {
            None => return Ok(Body::Bytes(first.freeze())),
            Some(piece) => first.extend_from_slice(&piece?),
        }
    }
    Ok(Body::Stream(stream.unread(first.freeze())))
}

/// Maximum size of a failure in a prompt. It never becomes a handle.
const MAX_FAILURE_LEN: usize = 8 * 1024;

fn failure(error: &Error) -> ToolResults {
    ToolResults::Failure(shortened(error.model_text(), MAX_FAILURE_LEN).into_owned())
}

impl Call {
    /// Settles the call with an external result: of a tool that the model server ran, of a cache, or of another process. Nothing
    /// is checked, approved or run.
    ///
    /// The result becomes a record of the turn like that of a handler: large content goes to the spool, and the model reads it
    /// inside an envelope. If the dispatch has a tool of that name, its artifact kind, inline rule and size limit apply. The
    /// result is never trusted. `Err(ToolError)` becomes a failed call. Result hooks ([`ResultHook`](crate::tool::ResultHook))
    /// see the result first.
    ///
    /// ```
    /// use turnwright_core::DispatchContext;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let ctx = DispatchContext::standalone();
    /// // The model server has searched the web itself:
    /// let call = ctx
    ///     .propose("web_search", r#"{"query": "rust 1.95"}"#)
    ///     .settle_with("Rust 1.95 was released on 16 April 2026.")
    ///     .await;
    /// assert!(call.is_complete() && !call.is_trusted());
    /// assert_eq!(call.text().await.as_deref(), Some("Rust 1.95 was released on 16 April 2026."));
    /// # });
    /// ```
    pub async fn settle_with(self, result: impl IntoToolResult) -> Arc<ToolCall> {
        let result = result.into_tool_result();
        let call = self.with_raw_checksum();
        let (ctx, record) = (call.ctx, call.record);
        let name = &record.tool;
        let own = ctx.tools().get(name);
        let tool = Tool::external(name, own.as_ref());
        let result = match result {
            Ok(output) => Ok(output.untrusted()),
            Err(error) => Err(error.into_error(name)),
        };
        let mut guard = CallGuard::new(&ctx, &record, true);
        guard.admitted(&tool, None, None);
        guard.handler_started();
        let args = tool.any_args(record.args());
        let call = ToolContext::new(ctx, record, tool, args, false);
        Box::pin(async {
            let ran = Ran {
                result: through_hooks(&call, result).await,
                call,
                guard: Some(guard),
                state: CallState::Done,
                started: true,
            };
            ran.settle().await
        })
        .await
    }
}
