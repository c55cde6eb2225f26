//! What most files that define or run tools need: `use turnwright::prelude::*;`.

pub use crate::{
    Approval, ApprovalRequest, Approver, ArtifactKind, DispatchContext, Effects, Error, Event,
    Inline, Json, Media, MediaKind, MergePolicy, OnCollision, PendingCall, Rejection, Review,
    Schema, Stash, Tool, ToolContext, ToolError, ToolOutput, ToolRegistry, TrustTier,
};
// The attribute alone: `crate::tool` is also a module, which would hide one of the user's.
#[cfg(feature = "macros")]
pub use turnwright_macros::tool;
