//! What the result of a call means for information flow.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::artifact::Inline;
use crate::artifact_tools::CALL_ID;
use crate::event::{Level, LogEntry};
use crate::record::{Retrievable, Settled, ToolCall, ToolResults};
use crate::tool::approval::ApprovalPolicy;
use crate::tool::context::CallFacts;

impl CallFacts {
    /// Returns whether the result contains private data, whatever the handler says about it.
    pub(super) fn reads_private(&self) -> bool {
        self.tool.reads_private() || self.below.read().private || self.reads_private_artifact()
    }

    /// Returns whether it is a call of an artifact tool that reads private data.
    fn reads_private_artifact(&self) -> bool {
        if !self.tool.is_artifact_tool() {
            return false;
        }
        let id = self.args.value().get(CALL_ID).and_then(Value::as_str);
        let records = self.call.ctx.turn().inner().records.read();
        id.is_some_and(|id| {
            let call = records.get::<ToolCall>(id);
            let mut found = records.of_type::<Retrievable>();
            call.is_some_and(|call| call.is_private())
                || found.any(|found| found.is_private() && found.shown_id() == id)
        })
    }

    /// Returns whether a policy of the turn, of an outer turn or of the tool keeps the result out of the prompt.
    pub(super) fn is_quarantined(&self) -> bool {
        if self.tool.is_artifact_tool() {
            return false;
        }
        // A policy is user code. If it panics, the result is kept out.
        let quarantines = |policy: &Arc<dyn ApprovalPolicy>| {
            catch_unwind(AssertUnwindSafe(|| policy.quarantines(&self.tool))).unwrap_or(true)
        };
        let setups = self.call.ctx.turn().setups();
        let policies = setups.flat_map(|setup| &setup.policies);
        policies.chain(self.tool.approval()).any(quarantines)
    }

    /// Returns whether the result is inlined.
    pub(super) fn inline(&self) -> Inline {
        match self.is_quarantined() {
            true => Inline::Never,
            false => self.tool.inline(),
        }
    }

    /// Keeps the result out of the prompt.
    pub(super) fn quarantine(&self, settled: &mut Settled) {
        let framework_text = match &settled.results {
            ToolResults::Artifacts(_) => {
                settled.inline = false;
                None
            }
            ToolResults::Failure(_) => {
                Some("The results of this tool are in quarantine. Its error message is not shown.")
            }
            ToolResults::Media(_) => Some(
                "The tool returned media. The results of this tool are in quarantine, so they are not shown.",
            ),
            ToolResults::Nothing | ToolResults::Text(_) | ToolResults::Refusal(_) => return,
        };
        if let Some(text) = framework_text {
            settled.results = ToolResults::Failure(text.to_owned());
        }
        // No artifact tool reads media.
        settled.attachments.clear();
        settled.quarantined = true;
        let (id, tool) = (self.call.id.as_str(), self.tool.name());
        let entry = LogEntry::new(format!(
            "the result of call `{id}` of `{tool}` is in quarantine: the prompt does not show it"
        ));
        let payload = json!({ "id": id, "tool": tool, "source": self.tool.source() });
        let turn = self.call.ctx.turn();
        turn.log(Level::Info, entry.kind("quarantine").payload(payload));
    }
}
