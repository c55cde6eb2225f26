//! The database of conversations. It is only read: nothing is created or changed.

use super::report::Check;
use crate::args::StoreFile;
use crate::storage::{Inspected, explain, inspect};
use crate::units::plural;

pub(super) async fn check(options: &StoreFile) -> Check {
    match inspect(options).await {
        Ok(Inspected::Missing(file)) => Check::ok(
            "store",
            format!("{} does not exist yet; `chat` creates it", file.display()),
        ),
        Ok(Inspected::Readable {
            file,
            conversations,
        }) => {
            let conversations = plural(conversations, "conversation");
            Check::ok("store", format!("{}, {conversations}", file.display()))
        }
        Err(error) => {
            let fix = "follow the advice above, or pass another file with --store FILE";
            Check::fail("store", format!("{:#}", explain(error)), fix)
        }
    }
}
