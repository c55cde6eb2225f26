//! From an outcome to a record.

use std::sync::Arc;

use tokio::time::Instant;

use super::checked::{Checked, CheckedCall};
use super::context::CallFacts;
use super::proposed::{ProposedCall, RefusedCall};
use super::run::{RawOutcome, within};
use crate::error::{Error, ErrorCode};
use crate::record::{SpooledResult, ToolCall, ToolResults};
use crate::spool::ByteReader;
use crate::tool::{Body, Tool};

impl RawOutcome {
    /// Keeps what the handler gave and makes the call a record of its turn.
    pub async fn settle(self) -> Arc<ToolCall> {
        let RawOutcome { facts, result } = self;
        let Checked { call, tool, .. } = &*facts.checked;
        let results = match result {
            Ok(output) => {
                let kind = output.kind.unwrap_or_else(|| tool.artifact_kind());
                let trusted = tool.is_trusted() && !output.untrusted;
                match keep_body(&facts, output.body).await {
                    Ok(reader) => ToolResults::Spooled(SpooledResult::new(reader, kind, trusted)),
                    Err(error) => ToolResults::Failure {
                        text: error.model_text().to_owned(),
                        trusted: false,
                    },
                }
            }
            Err(error) => ToolResults::Failure {
                text: error.model_text().to_owned(),
                trusted: tool.is_trusted(),
            },
        };
        let edited = facts.edited.then(|| facts.args.value().clone());
        ToolCall::keep(call, facts.call_id, results, edited)
    }
}

/// Spools what the handler gave. A stream comes within the time of its call, and stops with it.
async fn keep_body(facts: &CallFacts, body: Body) -> Result<Arc<dyn ByteReader>, Error> {
    let (call, now) = (&facts.call, Instant::now());
    let left = facts.deadline.map(|end| end.saturating_duration_since(now));
    let kept = call.ctx.spool().put(call.id.as_str(), body);
    match within(now, left, call.ctx.cancellation(), kept).await {
        Ok(Ok(reader)) => Ok(reader),
        Ok(Err(error)) => {
            Err(Error::new(ErrorCode::Spool, "the result could not be kept").with_source(error))
        }
        Err(cut) => Err(cut.error(&facts.tool, true)),
    }
}

/// Takes a call all the way to its record, whatever happens on it.
async fn complete(checked: Result<CheckedCall, RefusedCall>) -> Arc<ToolCall> {
    let admitted = match checked {
        Ok(checked) => checked.admit().await,
        Err(refused) => Err(refused),
    };
    match admitted {
        Ok(admitted) => admitted.run().await.settle().await,
        Err(refused) => refused.settle(),
    }
}

impl ProposedCall {
    /// Takes the call all the way: checked, admitted, run, settled. Whatever happens becomes the record.
    pub async fn complete(self) -> Arc<ToolCall> {
        complete(self.check().await).await
    }

    pub(super) async fn complete_for(self, tool: Tool) -> Arc<ToolCall> {
        complete(self.check_for(tool).await).await
    }
}
