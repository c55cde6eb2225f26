//! Looks at a database without creating or changing anything.

use std::path::PathBuf;

use turnwright::store::ConversationFilter;
use turnwright::store::Store as _;

use super::{Storage, StorageLocation};
use crate::args::StoreFile;

/// What is known about a database.
pub(crate) enum Inspected {
    /// The default database does not exist yet.
    Missing(PathBuf),
    Readable {
        file: PathBuf,
        conversations: u64,
    },
}

/// Opens the database read-only and counts its conversations.
pub(crate) async fn inspect(options: &StoreFile) -> anyhow::Result<Inspected> {
    let place = StorageLocation::of(options)?;
    let file = place.file.clone();
    if !place.is_there()? {
        return Ok(Inspected::Missing(file));
    }
    let storage = Storage::with(place, None, true).await?;
    let all = ConversationFilter::all();
    let conversations = storage.store.conversations(&all).await?.len() as u64;
    storage.store.close().await?;
    Ok(Inspected::Readable {
        file,
        conversations,
    })
}
