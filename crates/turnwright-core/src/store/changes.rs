//! What changed in a conversation.

use super::Loaded;
use crate::record::RecordKind;

/// What changed in a conversation since a revision, see [`Store::changed`](super::Store::changed).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Changes {
    /// Every record that was changed since.
    Since {
        /// The records that were put since, as they are now, in order. Its revision and fencing token are those of the
        /// conversation.
        put: Loaded,
        /// The records that were deleted since and do not exist now, in the order of kind and id.
        deleted: Vec<(RecordKind, String)>,
    },
    /// The store does not know what changed since: the revision is too old, the conversation was emptied meanwhile, or it never
    /// had this revision. Load the conversation.
    Unknown,
}

/// How many deletions a store remembers at least for each conversation that has records, see
/// [`Store::changed`](super::Store::changed).
pub const KEPT_DELETIONS: usize = 256;
