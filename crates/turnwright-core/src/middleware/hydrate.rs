//! What was before.

use async_trait::async_trait;

use crate::error::BoxError;
use crate::pipeline::{Middleware, Next};
use crate::record::RecordKind;
use crate::store::Query;
use crate::turn::TurnContext;

/// Loads what the conversation's store holds into the turn: see [`hydrate`].
#[derive(Clone, Copy, Debug)]
pub struct Hydrate(());

/// Loads everything that the store holds of the conversation into the turn: what was said, thought and called, memories,
/// standing instructions and retrievables. Calls of earlier turns then count as this turn's, and their artifacts can still be
/// read. For the turn's input.
#[must_use]
pub fn hydrate() -> Hydrate {
    Hydrate(())
}

impl Hydrate {
    pub(crate) const NAME: &str = "hydrate";
}

#[async_trait]
impl Middleware<TurnContext> for Hydrate {
    async fn handle(&self, ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
        if let Some(store) = ctx.store() {
            let kinds = RecordKind::ALL.iter().copied();
            let mut query = Query::all();
            query.kinds = kinds.filter(|kind| *kind != RecordKind::Ledger).collect();
            let loaded = store.load(ctx.scope(), &query).await?;
            ctx.hydrate(loaded.records.into_iter().map(|stored| stored.record));
        }
        next.run().await
    }

    fn name(&self) -> &'static str {
        Hydrate::NAME
    }
}
