//! Changes of a conversation.

use super::Loaded;
use crate::record::RecordKind;

/// The changes of a conversation since a revision. See [`Store::changed`](super::Store::changed).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Changes {
    /// All records that were changed since.
    Since {
        /// The records that were put since, in their current version and in order. The revision and fencing token are those of
        /// the conversation.
        put: Loaded,
        /// The records that were deleted since and do not exist now, ordered by kind and id.
        deleted: Vec<(RecordKind, String)>,
    },
    /// Unknown: the revision is too old, the conversation was emptied meanwhile, or it never had this revision. Load the
    /// conversation.
    Unknown,
}

/// How many deletions a store remembers at least per conversation with records. See [`Store::changed`](super::Store::changed).
pub const MIN_DELETION_HISTORY: usize = 256;
