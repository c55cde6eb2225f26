//! Reading and changing the metadata of a conversation.

use std::sync::Arc;

use super::{Batch, ConversationId, FoundConversation, Loaded, Store, StoreError, StoreExt as _};
use crate::error::{Error, ErrorCode};
use crate::record::{ConversationInfo, RecordKind};
use crate::validate::Violations;

/// Implements [`StoreExt::update_conversation_info`](super::StoreExt::update_conversation_info).
pub(crate) async fn update_conversation_info<S: Store + ?Sized>(
    store: &S,
    conversation: &ConversationId,
    mut change: impl FnMut(ConversationInfo) -> ConversationInfo + Send,
) -> Result<Arc<ConversationInfo>, Error> {
    let mut wrong = Violations::default();
    wrong.check_named_id("conversation", conversation.as_str());
    wrong.finish(
        ErrorCode::INVALID_INITIAL_CONVERSATION_INFO_VALUE,
        "conversation info",
    )?;
    let mut changed = Ok(Arc::default());
    let query = FoundConversation::query();
    let updated = store.update(conversation, &query, |loaded| {
        let (batch, result) = match changed_info(conversation, loaded, &mut change) {
            Ok((batch, info)) => (batch, Ok(info)),
            Err(error) => (Batch::new(), Err(error)),
        };
        changed = result;
        batch
    });
    updated.await?;
    changed
}

/// The info after the change, and the batch that stores it.
fn changed_info(
    conversation: &ConversationId,
    loaded: &Loaded,
    change: &mut impl FnMut(ConversationInfo) -> ConversationInfo,
) -> Result<(Batch, Arc<ConversationInfo>), Error> {
    let found = FoundConversation::new(conversation.clone(), loaded.clone());
    if let Some(damaged) = found.damaged {
        return Err(StoreError::damaged(damaged).into());
    }
    let stored = found.info.as_deref();
    let info = change(stored.cloned().unwrap_or_default()).build()?;
    let batch = match stored {
        Some(stored) if *stored == *info => Batch::new(),
        None if info.is_empty() => Batch::new(),
        Some(_) if info.is_empty() => {
            Batch::new().delete(RecordKind::ConversationInfo, ConversationInfo::ID)
        }
        _ => Batch::new().put(Arc::clone(&info)),
    };
    Ok((batch, info))
}
