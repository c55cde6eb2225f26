//! Traces: spans of the `tracing` crate with the names of the OpenTelemetry conventions for generative AI. Requires the feature
//! `tracing`.
//!
//! ```text
//! invoke_agent               a turn, child of the span in which it was started
//! ├─ chat                    one run of the executor
//! │  ├─ execute_tool         one run of a handler; concurrent calls have separate spans
//! │  └─ execute_tool
//! └─ chat
//! ```
//!
//! Any `tracing` subscriber receives them. The layer of `tracing-opentelemetry` turns them into spans with the right name, kind
//! and status. `error.type` contains a stable error code. Log messages, errors, refused calls and closed gates are events within the spans. A
//! refused call has no span, since nothing ran. A blocking handler runs within the span of its call, so the span of a detached
//! thread stays open until the thread ends.
//!
//! Messages, arguments and results are not recorded by default. Neither are the messages of errors and warnings, which may
//! contain any of these. With `trace_content(true)` each is recorded, up to 8 KiB:
//!
//! ```
//! use turnwright_core::DispatchContext;
//!
//! let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
//!     ctx.answer("hello").await?;
//!     Ok(())
//! })
//! .trace_content(true)
//! .build()?;
//! # Ok::<(), turnwright_core::Error>(())
//! ```

#[cfg(feature = "tracing")]
mod content;
#[cfg(feature = "tracing")]
mod events;
#[cfg(feature = "tracing")]
mod names;
#[cfg(feature = "tracing")]
mod spans;

#[cfg(not(feature = "tracing"))]
mod disabled;

#[cfg(feature = "tracing")]
#[cfg(test)]
mod tests;

#[cfg(feature = "tracing")]
pub(crate) use {
    events::{failed, gate_closed, is_traced, log, refused, warning},
    spans::{ModelSpan, ToolSpan, TurnSpan, here, principal},
};

#[cfg(not(feature = "tracing"))]
pub(crate) use disabled::{
    ModelSpan, ToolSpan, TurnSpan, failed, gate_closed, here, is_traced, log, principal, refused,
    warning,
};

/// The target of all spans and events, for filters.
pub const TARGET: &str = "turnwright";
