//! Suspending a turn.

use std::sync::Arc;

use crate::gate::OpenGate;
use crate::outcome::TurnStatus;
use crate::record::GateRecord;
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Begins nothing more, because the turn is to be suspended: returns only once the turn has ended.
    pub(crate) async fn park(&self, tool_call: Option<&str>) {
        let parked = self.inner().gates.activity().park(tool_call);
        self.cancellation().cancelled().await;
        // A turn that is suspended keeps it: nothing goes on.
        drop(parked);
    }

    /// Waits until the turn can be suspended, and suspends it. Never returns for a turn that is to run to its end.
    pub(crate) async fn suspended(&self) -> TurnStatus {
        let gates = &self.inner().gates;
        if !gates.activity().is_enabled() {
            std::future::pending::<()>().await;
        }
        let waiting = gates.activity().suspended(gates.table()).await;
        let open = |gate: &Arc<GateRecord>| OpenGate::from(&**gate);
        TurnStatus::Suspended {
            gates: waiting.iter().map(open).collect(),
        }
    }
}
