//! Finds a turn in its conversation.

use std::sync::Arc;

use super::ext::undamaged;
use super::{ConversationId, Position, Query, Store, StoreError};
use crate::record::{Record, RecordKind, TurnRecord};

/// A stored turn, and where its records are: after it, up to the next turn.
pub(crate) struct TurnPlace {
    pub(crate) turn: Arc<TurnRecord>,
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
        let found = undamaged(store.load(conversation, &query).await?)?
            .records
            .pop();
        let Some((position, Record::Turn(turn))) = found.map(|one| (one.position, one.record))
        else {
            return Ok(None);
        };
        let next = next_turn(store, conversation, position).await?;
        Ok(Some(TurnPlace {
            turn,
            position,
            next,
        }))
    }

    /// Selects the records of the turn, up to the next one.
    pub(crate) fn own(&self) -> Query {
        let mut query = Query::all().after(self.position);
        query.before = self.next;
        query
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
