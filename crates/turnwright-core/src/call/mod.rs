//! Tool calls: the path on which a tool runs, and the checksum of a call.
//!
//! [`DispatchContext::propose`](crate::DispatchContext::propose) creates a [`Call`], and
//! [`Call::complete`] takes it through every stage:
//!
//! ```text
//! check    decode → coerce → defaults → validate → deserialise → external checks
//! admit    policies, and an approver if required; changed arguments are checked again
//! run      the only stage that runs a handler
//! settle   the record: a ToolCall
//! ```
//!
//! Each stage consumes the call of the previous one. Only the first stage is public, so no caller can skip a stage or use an
//! approval twice. A call that is refused becomes a record with a text for the model.
//!
//! ```compile_fail
//! # async fn skip(ctx: turnwright_core::DispatchContext) {
//! // A proposed call cannot be run:
//! ctx.propose("delete_everything", "{}").run().await;
//! # }
//! ```

mod admitted;
mod approval_gate;
mod batch;
mod checked;
mod guard;
mod proposed;
mod recovery;
mod refused;
mod results;
mod run;
mod settle;
mod spool;

#[cfg(test)]
mod tests;

pub use crate::checksum::{checksum, digest_of};
pub use proposed::{Call, Proposed};

pub(crate) use checked::shown_name;
pub(crate) use recovery::{OpenCalls, left_open};
