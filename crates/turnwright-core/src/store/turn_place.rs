//! Finds a turn in its conversation.

use std::sync::Arc;

use super::{ConversationId, DamagedRecord, Position, Query, Store, StoreError};
use crate::record::{Record, RecordKind, TurnRecord};

/// A stored turn, and where its records are: after it, up to the next turn.
pub(crate) struct TurnPlace {
    /// The turn, or why it cannot be read.
    pub(crate) turn: Result<Arc<TurnRecord>, Box<DamagedRecord>>,
    pub(crate) position: Position,
    /// The position of the next turn of the conversation, if there is one.
    pub(crate) next: Option<Position>,
}

impl TurnPlace {
    /// Finds a turn. `None` if the conversation does not have it.
    pub(crate) async fn find(
        store: &dyn Store,
        conversation: &ConversationId,
        turn_id: &str,
    ) -> Result<Option<Self>, StoreError> {
        let query = Query::all().kind(RecordKind::Turn).ids([turn_id]);
        let mut loaded = store.load(conversation, &query).await?;
        let Some((position, _)) = loaded.bounds() else {
            return Ok(None);
        };
        let turn = match loaded.damaged.pop() {
            Some(damaged) => Err(Box::new(damaged)),
            None => match loaded.records.pop().map(|found| found.record) {
                Some(Record::Turn(turn)) => Ok(turn),
                _ => return Ok(None),
            },
        };
        Ok(Some(TurnPlace {
            turn,
            position,
            next: next_turn(store, conversation, position).await?,
        }))
    }
}

/// Returns the position of the next turn, if there is one.
pub(crate) async fn next_turn(
    store: &dyn Store,
    conversation: &ConversationId,
    position: Position,
) -> Result<Option<Position>, StoreError> {
    let query = Query::all().kind(RecordKind::Turn).after(position);
    let later = store.load(conversation, &query.limit(1)).await?;
    Ok(later.bounds().map(|(next, _)| next))
}
