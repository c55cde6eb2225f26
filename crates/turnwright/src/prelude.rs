//! What most files that define or run tools need: `use turnwright::prelude::*;`.

pub use crate::{
    Approval, ApprovalRequest, Approver, DispatchContext, Effects, Error, Event, Json, MergePolicy,
    OnCollision, PendingCall, Rejection, Review, Schema, Stash, Tool, ToolContext, ToolError,
    ToolOutput, ToolRegistry,
};
// The attribute alone: `crate::tool` is also a module, which would hide one of the user's.
#[cfg(feature = "macros")]
pub use turnwright_macros::tool;
