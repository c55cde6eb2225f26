//! Suspending a turn.

use std::sync::Arc;

use crate::gate::OpenGate;
use crate::outcome::TurnStatus;
use crate::record::GateRecord;
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Starts nothing more, because the turn is being suspended. Returns only once the turn has ended.
    pub(crate) async fn wait_for_suspension(&self, tool_call: Option<&str>) {
        let _not_started = self.gates().activity().not_started(tool_call);
        self.cancellation().cancelled().await;
    }

    /// Waits until the turn can be suspended, and suspends it. Never returns for a turn that runs to its end.
    pub(crate) async fn suspended(&self) -> TurnStatus {
        let gates = self.gates();
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
