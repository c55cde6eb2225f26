//! What stands in the way of deleting something.

use std::time::SystemTime;

use turnwright::sqlite::{Retention, SqliteError, Trouble};
use turnwright::store::{Scope, StoreError, StoreExt as _};

use super::super::again::held;
use super::super::seen::{in_scope, scopes_of};
use crate::exit::misuse;
use crate::kept::{Desk, Keeping};

/// Refuses where somebody else runs this turn now; any turn of the conversation, if none is named.
pub(super) async fn refuse_held(
    keeping: &Keeping,
    scope: &Scope,
    turn: Option<&str>,
) -> anyhow::Result<()> {
    let lease = keeping.store.lease(scope).await;
    let lease = lease.map_err(|error| keeping.told(error))?;
    let lease = lease.filter(|lease| turn.is_none() || lease.turn_id() == turn);
    match lease.and_then(|lease| lease.left()) {
        None => Ok(()),
        Some(left) => Err(held(scope, left, THEN)),
    }
}

/// What helps where somebody has what is to be deleted.
pub(super) const THEN: &str = "Then it can be deleted";

/// Refuses where a chat has a conversation open that could be among those that go.
pub(super) async fn refuse_open(keeping: &Keeping, retention: &Retention) -> anyhow::Result<()> {
    for name in Desk::all_taken(keeping)? {
        for scope in scopes_of(keeping, &name).await? {
            let last = match in_scope(keeping, &scope).await {
                Ok(mut turns) => turns.pop().map(|seen| seen.turn),
                Err(_) => None,
            };
            let at = last.map(|last| last.ended_at().unwrap_or(last.began_at()));
            // It was written then, or later.
            let young = at.is_some_and(|at| {
                let age = SystemTime::now().duration_since(at).unwrap_or_default();
                retention.max_age.is_none_or(|most| age < most)
            });
            if retention.max_bytes.is_some() || !young {
                return Err(open_in_chat(&name));
            }
        }
    }
    Ok(())
}

/// Nothing is wrong with the command: it may work the next time.
pub(super) fn open_in_chat(name: &str) -> anyhow::Error {
    anyhow::anyhow!("a chat has the conversation {name} open: end it first")
}

/// A store's error, for whoever deletes.
pub(super) fn told(error: StoreError, keeping: &Keeping) -> anyhow::Error {
    match SqliteError::of(&error).map(SqliteError::trouble) {
        Some(Trouble::Refused) if !keeping.has_results => results_elsewhere(keeping),
        _ => keeping.told(error),
    }
}

pub(super) fn results_elsewhere(keeping: &Keeping) -> anyhow::Error {
    misuse(format!(
        "there are results that belong to this, and they do not stand beside `{}`: name their folder with `--results FOLDER`. \
         Nothing was deleted",
        keeping.place.file().display()
    ))
}
