//! The path on which a tool runs.
//!
//! ```text
//! ctx.propose(name, args)   ProposedCall
//!     .check().await        CheckedCall     decode → coerce → defaults → validate → type → external checks
//!     .admit().await        AdmittedCall    policies, approval if required; changes are checked again
//!     .run().await          RawOutcome      the only place that runs a handler
//!     .settle().await       ToolCall        the record
//! ```
//!
//! Each stage consumes the previous one. Stages cannot be constructed, cloned or skipped. A call that does not pass becomes a
//! [`RefusedCall`], which settles into a record too.
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
mod direct;
mod guard;
mod keep;
mod proposed;
mod recovery;
mod result_hooks;
mod run;
mod settle;
mod settle_with;

#[cfg(test)]
mod tests;

pub use admitted::AdmittedCall;
pub use checked::CheckedCall;
pub use proposed::{ProposedCall, RefusedCall};
pub use run::RawOutcome;

pub(crate) use proposed::shown_name;
pub(crate) use recovery::{OpenCalls, left_open, not_approved};
