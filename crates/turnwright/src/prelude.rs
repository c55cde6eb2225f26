//! What most files that define or run tools need: `use turnwright::prelude::*;`.

#[cfg(feature = "chat-completions")]
pub use crate::ChatCompletions;
pub use crate::Usage;
pub use crate::approval::{always, before_writes, when, when_tainted};
pub use crate::event::Level;
pub use crate::spool::MemoryReader;
pub use crate::{
    Approval, ApprovalPolicy, ApprovalRequest, Approver, ArtifactKind, BoxError, ByteStream,
    Cancellation, Conversation, DispatchContext, Effects, Error, ErrorCode, ErrorKind, Event,
    EventKind, Executor, Inline, Json, Limit, Media, MediaKind, MemoryStore, MergePolicy, Message,
    Middleware, Next, OnCollision, PendingCall, Rejection, Review, Schema, Stash, Store, StoreExt,
    Tool, ToolContext, ToolError, ToolOutput, ToolRegistry, TrustTier, Turn, TurnContext,
    TurnEvent, TurnGate, TurnInput, TurnOutcome, TurnRunner, TurnStatus, async_trait,
};
// The attribute alone: `crate::tool` is also a module, which would hide one of the user's.
#[cfg(feature = "macros")]
pub use turnwright_macros::tool;
