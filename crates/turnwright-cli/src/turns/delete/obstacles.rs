//! What stands in the way of deleting something.

use turnwright::sqlite::{SqliteError, SqliteErrorKind as Trouble};
use turnwright::store::{ConversationId, StoreError};

use super::super::summary::conversation_ids_of;
use crate::exit::misuse;
use crate::storage::{ChatLock, Storage};

/// What helps where somebody has what is to be deleted.
pub(super) const THEN: &str = "Then it can be deleted";

/// The conversations that chats have open: they stay, however old or large they are.
pub(super) async fn open_in_chats(storage: &Storage) -> anyhow::Result<Vec<ConversationId>> {
    let mut open = Vec::new();
    for name in ChatLock::all_taken(storage)? {
        open.extend(conversation_ids_of(storage, &name).await?);
    }
    Ok(open)
}

/// Nothing is wrong with the command: it may work the next time.
pub(super) fn open_in_chat(name: &str) -> anyhow::Error {
    anyhow::anyhow!("a chat has the conversation {name} open: end it first")
}

/// A store's error, for whoever deletes.
pub(super) fn explain(error: StoreError, storage: &Storage) -> anyhow::Error {
    match SqliteError::of(&error).map(SqliteError::kind) {
        Some(Trouble::Invalid) if !storage.has_results => results_elsewhere(storage),
        _ => storage.explain(error),
    }
}

pub(super) fn results_elsewhere(storage: &Storage) -> anyhow::Error {
    misuse(format!(
        "there are results that belong to this, and they do not stand beside `{}`: name their folder with `--results FOLDER`. \
         Nothing was deleted",
        storage.place.file().display()
    ))
}
