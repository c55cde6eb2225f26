//! Traces: what a turn does, as spans of the `tracing` crate under the names that OpenTelemetry has agreed on for
//! generative AI. With the feature `tracing`; without it, nothing of this is compiled.
//!
//! ```text
//! invoke_agent               a turn, below the span in which it was started
//! ├─ chat                    one run of the executor
//! │  ├─ execute_tool         one run of a handler, also where calls run side by side
//! │  └─ execute_tool
//! └─ chat
//! ```
//!
//! Any subscriber sees them; the layer of `tracing-opentelemetry` makes them spans of the right name, kind and status. What
//! went wrong stands in `error.type`, as a stable code. Words to operators, errors and refused calls are events within them.
//! A call that was refused has no span, since nothing ran. What a blocking handler does in its thread is within the span of
//! its call, which therefore stays open for as long as a thread that was left behind is at work.
//!
//! What was said, asked and answered is not recorded, nor is the message of an error or a warning, in which any of that may
//! stand. Ask for it, and each is recorded up to 8 KiB:
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
    events::{failed, is_traced, log, refused, warning},
    spans::{ModelSpan, ToolSpan, TurnSpan, here},
};

#[cfg(not(feature = "tracing"))]
pub(crate) use disabled::{
    ModelSpan, ToolSpan, TurnSpan, failed, here, is_traced, log, refused, warning,
};

/// The target of every span and event, for filters.
pub const TARGET: &str = "turnwright";
