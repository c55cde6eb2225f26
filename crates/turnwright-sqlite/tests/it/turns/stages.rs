//! The stages of a turn at which a process can be stopped.

use serde_json::{Value, json};

/// Where a process can stop. `Before` and `After` refer to a batch of the store, or to a write to the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Stage {
    BeforeBegin,
    AfterBegin,
    BeforeTaken,
    AfterTaken,
    BeforeRenewed,
    AfterRenewed,
    InInput,
    Proposed,
    BeforeOpen,
    AfterOpen,
    Checked,
    Reviewed,
    BeforeWaiting,
    AfterWaiting,
    Waiting,
    Answered,
    BeforeAnswered,
    AfterAnswered,
    BeforeBegun,
    AfterBegun,
    Started,
    BeforeEffect,
    AfterEffect,
    Ended,
    BeforeSpooled,
    AfterSpooled,
    BeforeSettled,
    AfterSettled,
    FindingOut,
    BeforeWords,
    AfterWords,
    BeforeEnd,
    AfterEnd,
}

/// All stages. The process is killed at each of them.
pub(crate) const STAGES: &[Stage] = &[
    // The batch that begins a turn, and the one that resumes it.
    Stage::BeforeBegin,
    Stage::AfterBegin,
    Stage::BeforeTaken,
    Stage::AfterTaken,
    // The batch that only renews the lease.
    Stage::BeforeRenewed,
    Stage::AfterRenewed,
    // In the turn middleware.
    Stage::InInput,
    // The executor has its calls, but has not proposed them yet.
    Stage::Proposed,
    // The batch that records calls of which none may write yet.
    Stage::BeforeOpen,
    Stage::AfterOpen,
    // In the external check, and in the policy.
    Stage::Checked,
    Stage::Reviewed,
    // The batch that records an open gate; the gate was seen, and was answered; the batch that records the answer.
    Stage::BeforeWaiting,
    Stage::AfterWaiting,
    Stage::Waiting,
    Stage::Answered,
    Stage::BeforeAnswered,
    Stage::AfterAnswered,
    // The batch that records `started`.
    Stage::BeforeBegun,
    Stage::AfterBegun,
    // The handler: its start event, before and after its effect, its end event.
    Stage::Started,
    Stage::BeforeEffect,
    Stage::AfterEffect,
    Stage::Ended,
    // Its result is written to the spool.
    Stage::BeforeSpooled,
    Stage::AfterSpooled,
    // The batch that records the result of a call.
    Stage::BeforeSettled,
    Stage::AfterSettled,
    // The tool reconciles a call.
    Stage::FindingOut,
    // The batch with the answer, and the one with the end of the turn.
    Stage::BeforeWords,
    Stage::AfterWords,
    Stage::BeforeEnd,
    Stage::AfterEnd,
];

impl Stage {
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    fn named(name: &str) -> Stage {
        let named = |stage: &&Stage| stage.name() == name;
        *STAGES.iter().find(named).unwrap()
    }

    /// Returns `true` if only a resuming process reaches this stage.
    pub(crate) fn is_on_resume_only(self) -> bool {
        matches!(
            self,
            Stage::BeforeTaken | Stage::AfterTaken | Stage::FindingOut
        )
    }
}

/// Where a process must stop: the n-th time that it reaches a stage, in one conversation or in any.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) stage: Stage,
    pub(crate) conversation: Option<String>,
    pub(crate) nth: u32,
    /// Continues when signalled. Otherwise it stays there.
    pub(crate) continues: bool,
}

impl Stop {
    pub(crate) fn at(stage: Stage) -> Self {
        Stop {
            stage,
            conversation: None,
            nth: 1,
            continues: false,
        }
    }

    pub(crate) fn of(mut self, conversation: &str) -> Self {
        self.conversation = Some(conversation.to_owned());
        self
    }

    pub(crate) fn nth(mut self, nth: u32) -> Self {
        self.nth = nth;
        self
    }

    pub(crate) fn continues(mut self) -> Self {
        self.continues = true;
        self
    }

    pub(crate) fn is_at(&self, stage: Stage, conversation: &str) -> bool {
        let here = self.conversation.as_deref();
        self.stage == stage && here.is_none_or(|here| here == conversation)
    }

    pub(crate) fn to_value(&self) -> Value {
        json!({
            "stage": self.stage.name(), "conversation": self.conversation, "nth": self.nth,
            "goesOn": self.continues,
        })
    }

    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        Some(Stop {
            stage: Stage::named(value["stage"].as_str()?),
            conversation: value["conversation"].as_str().map(str::to_owned),
            nth: value["nth"].as_u64()? as u32,
            continues: value["goesOn"].as_bool()?,
        })
    }
}
