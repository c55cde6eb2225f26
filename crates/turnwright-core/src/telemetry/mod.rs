//! Traces and metrics: spans and events of the `tracing` crate with the names of the OpenTelemetry conventions for generative
//! AI.
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
//! [`METRICS`] are events at the level `TRACE` with the target [`METRICS_TARGET`], in the form that the `MetricsLayer` of
//! `tracing-opentelemetry` reads. A filter that applies to all layers must let them pass.
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

mod content;
mod events;
mod measure;
mod metric;
mod names;
mod spans;

#[cfg(test)]
mod tests;

pub(crate) use {
    events::{failed, gate_closed, is_busy, is_traced, log, refused, warning},
    measure::gate_opened,
    spans::{ModelSpan, ToolSpan, TurnSpan, here, principal},
};

pub use metric::{METRICS, Metric};

/// The target of all spans and events, for filters.
pub const TARGET: &str = "turnwright";

/// The target of the events with metrics, for filters.
pub const METRICS_TARGET: &str = "turnwright::metrics";
