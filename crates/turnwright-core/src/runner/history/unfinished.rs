//! Calls of earlier turns that never ended.

use std::collections::HashSet;
use std::sync::Arc;

use super::pages::Pages;
use crate::call::left_open;
use crate::error::Error;
use crate::record::{CallState, Record, RecordKind};
use crate::store::{ConversationId, Position, Stored};

/// Closes loaded calls without a result: their process died, or they are still running elsewhere. The ledger tells which of them
/// may have taken effect. Does not change the store.
pub(super) async fn close_unfinished(
    found: &mut [Stored],
    pages: &Pages<'_>,
    conversation_id: &ConversationId,
) -> Result<(), Error> {
    let is_open = |one: &&Stored| matches!(&one.record, Record::ToolCall(call) if call.is_open());
    let Some(first) = found.iter().find(is_open).map(|one| one.position) else {
        return Ok(());
    };
    let begun = begun_since(first, pages, conversation_id).await?;
    let damaged = pages.damaged.lock();
    // A damaged ledger entry may belong to any of them.
    let doubtful = damaged
        .iter()
        .any(|record| record.kind == Some(RecordKind::Ledger));
    for one in found {
        if let Record::ToolCall(call) = &mut one.record
            && call.is_open()
        {
            let settled = left_open(doubtful || begun.contains(call.id()));
            *call = Arc::clone(call).closed(settled);
        }
    }
    Ok(())
}

/// Returns the calls from a position on that started and did not end. The ledger entry of a call is never written before its
/// record.
async fn begun_since(
    first: Position,
    pages: &Pages<'_>,
    conversation_id: &ConversationId,
) -> Result<HashSet<String>, Error> {
    let mut begun = HashSet::new();
    pages
        .read_back(
            conversation_id,
            &[RecordKind::Ledger],
            None,
            |page, place| {
                for one in page {
                    if let Record::Ledger(entry) = &one.record
                        && matches!(entry.state, CallState::Started | CallState::Unknown)
                    {
                        begun.insert(entry.tool_call.to_owned());
                    }
                }
                place.is_some_and(|place| place >= first)
            },
        )
        .await?;
    Ok(begun)
}
