//! What the result of a call means for information flow.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::json;

use crate::artifact::Inline;
use crate::event::{Level, LogEntry};
use crate::record::{Settled, ToolResults};
use crate::tool::approval::ApprovalPolicy;
use crate::tool::context::{Call, Running};

impl Call<Running> {
    /// Returns whether a policy of the turn, of an outer turn or of the tool keeps the result out of the prompt.
    pub(super) fn is_quarantined(&self) -> bool {
        if self.stage.tool.is_artifact_tool() {
            return false;
        }
        // A policy is user code. If it panics, the result is kept out.
        let quarantines = |policy: &Arc<dyn ApprovalPolicy>| {
            catch_unwind(AssertUnwindSafe(|| policy.quarantines(&self.stage.tool))).unwrap_or(true)
        };
        let setups = self.turn().setups();
        let policies = setups.flat_map(|setup| &setup.policies);
        policies.chain(self.stage.tool.approval()).any(quarantines)
    }

    /// Returns whether the result is inlined.
    pub(super) fn inline(&self) -> Inline {
        if self.is_quarantined() {
            Inline::Never
        } else {
            self.stage.tool.inline()
        }
    }

    /// Keeps the result out of the prompt.
    pub(super) fn quarantine(&self, settled: &mut Settled) {
        let framework_text = match &settled.results {
            ToolResults::Artifacts(_) => {
                settled.inline = Some(false);
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
        let (id, tool) = (self.id(), self.stage.tool.name());
        let entry = LogEntry::new(format!(
            "the result of call `{id}` of `{tool}` is in quarantine: the prompt does not show it"
        ));
        let payload = json!({ "id": id, "tool": tool, "source": self.stage.tool.source() });
        let turn = self.turn();
        turn.log(Level::Info, entry.kind("quarantine").payload(payload));
    }
}
