//! The contexts of a call, a dispatch and a turn.
//!
//! Contexts contain each other and do not inherit. A call's `wait_for` pauses its deadline and its `cancellation` fires
//! at the deadline; the turn's do neither. With `Deref`, a helper that takes `&TurnContext` would silently get the
//! turn's. So `ctx.dispatch()` and `ctx.turn()` are explicit, and everyday methods are repeated on each context.
//! Contexts are cheap handles over shared state. No lock is held across an `await` or while user code runs, except in
//! `Stash::update`.

mod call;
mod dispatch;
mod journal;
mod limits;
mod outer;
mod signal;
mod turn;
mod turn_records;
mod wiring;

pub use call::ToolContext;
pub use dispatch::DispatchContext;
pub use signal::{AckHook, ProposedAnswer, Signal};
pub use turn::TurnContext;
pub(crate) use turn::WeakTurnContext;
pub use turn_records::TurnRecords;

pub(crate) use journal::Mark;
pub(crate) use limits::ReportedRequest;
pub(crate) use outer::Outer;
pub(crate) use wiring::{Setup, TurnParts};
