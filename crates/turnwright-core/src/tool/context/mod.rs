//! The contexts of a call, a dispatch and a turn.

mod call;
mod dispatch;
mod outer;
mod setup;
mod signal;
mod turn;
mod turn_state;

pub use call::ToolContext;
pub use dispatch::{DispatchContext, WeakDispatchContext};
pub use signal::{AckGuard, Signal};
pub use turn::{TurnContext, WeakTurnContext};

pub(crate) use call::{Call, CallFacts, Checked};
pub(crate) use outer::Outer;
pub(crate) use setup::{Setup, setup_methods};
pub(crate) use turn_state::TurnParts;
