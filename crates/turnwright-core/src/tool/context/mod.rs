//! The contexts of a call, a dispatch and a turn.

mod call;
mod dispatch;
mod journal;
mod limits;
mod outer;
mod proposal;
mod setup;
mod signal;
mod turn;
mod turn_records;
mod wiring;

pub use call::{Call, Proposed, ToolContext};
pub use dispatch::DispatchContext;
pub use proposal::ProposedAnswer;
pub use signal::{AckHook, Signal};
pub use turn::TurnContext;
pub(crate) use turn::WeakTurnContext;
pub use turn_records::TurnRecords;

pub(crate) use call::Running;
pub(crate) use journal::Flag;
pub(crate) use limits::CallPermit;
pub(crate) use outer::Outer;
pub(crate) use proposal::Decision;
pub(crate) use setup::Setup;
pub(crate) use wiring::TurnParts;
