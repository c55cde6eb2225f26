//! What stands in the way of deleting something.

use turnwright::sqlite::{SqliteError, Trouble};
use turnwright::store::{Scope, StoreError};

use super::super::seen::scopes_of;
use crate::exit::misuse;
use crate::kept::{Desk, Keeping};

/// What helps where somebody has what is to be deleted.
pub(super) const THEN: &str = "Then it can be deleted";

/// The conversations that chats have open: they stay, however old or large they are.
pub(super) async fn open_in_chats(keeping: &Keeping) -> anyhow::Result<Vec<Scope>> {
    let mut open = Vec::new();
    for name in Desk::all_taken(keeping)? {
        open.extend(scopes_of(keeping, &name).await?);
    }
    Ok(open)
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
