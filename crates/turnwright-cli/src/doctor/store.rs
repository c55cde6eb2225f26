//! The database of conversations. It is only read: nothing is created or changed.

use turnwright::store::{ConversationFilter, Store as _};

use super::report::Check;
use crate::args::StoreFile;
use crate::storage::{Storage, StorageLocation, explain};
use crate::units::plural;

pub(super) async fn check(options: &StoreFile) -> Check {
    match inspect(options).await {
        Ok(found) => Check::ok("store", found),
        Err(error) => {
            let fix = "follow the advice above, or pass another file with --store FILE";
            Check::fail("store", format!("{:#}", explain(error)), fix)
        }
    }
}

async fn inspect(options: &StoreFile) -> anyhow::Result<String> {
    let file = StorageLocation::of(options)?.file;
    let file = file.display();
    let Some(storage) = Storage::open_if_there(options).await? else {
        return Ok(format!("{file} does not exist yet; `chat` creates it"));
    };
    let all = ConversationFilter::all();
    let conversations = storage.store.conversations(&all).await?.len() as u64;
    storage.store.close().await?;
    Ok(format!("{file}, {}", plural(conversations, "conversation")))
}
