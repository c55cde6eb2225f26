//! The stages of a turn at which a process can be told to stop.

use serde_json::{Value, json};

/// Where a process can stop. `Before` and `After` are a batch of the store, or what is put into the spool.
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

/// All of them: each is killed at.
pub(crate) const STAGES: &[Stage] = &[
    // The batch with which a turn begins, and that with which one is taken up again.
    Stage::BeforeBegin,
    Stage::AfterBegin,
    Stage::BeforeTaken,
    Stage::AfterTaken,
    // The batch that renews the lease and nothing else.
    Stage::BeforeRenewed,
    Stage::AfterRenewed,
    // In the middleware of the turn's input.
    Stage::InInput,
    // The executor has its calls, and did not hand them in yet.
    Stage::Proposed,
    // The batch that opens the records of calls, where none of them may write yet.
    Stage::BeforeOpen,
    Stage::AfterOpen,
    // In the external check, and in the policy.
    Stage::Checked,
    Stage::Reviewed,
    // The batch that notes that the turn waits at a gate; whoever answers has seen it, and has answered; the batch that
    // notes the answer.
    Stage::BeforeWaiting,
    Stage::AfterWaiting,
    Stage::Waiting,
    Stage::Answered,
    Stage::BeforeAnswered,
    Stage::AfterAnswered,
    // The batch that says `begun`.
    Stage::BeforeBegun,
    Stage::AfterBegun,
    // The handler: its start was told, before and after its effect, its end was told.
    Stage::Started,
    Stage::BeforeEffect,
    Stage::AfterEffect,
    Stage::Ended,
    // What came of it goes into the spool.
    Stage::BeforeSpooled,
    Stage::AfterSpooled,
    // The batch that says what came of a call.
    Stage::BeforeSettled,
    Stage::AfterSettled,
    // The tool is asked what became of a call.
    Stage::FindingOut,
    // The batch with the answer in words, and that with the end of the turn.
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

    /// Whether only a process that takes turns up comes here.
    pub(crate) fn is_of_resuming(self) -> bool {
        matches!(
            self,
            Stage::BeforeTaken | Stage::AfterTaken | Stage::FindingOut
        )
    }
}

/// Where a process is to stop: the n-th time that it comes to a stage, in one conversation or in any.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) stage: Stage,
    pub(crate) conversation: Option<String>,
    pub(crate) nth: u32,
    /// It goes on once somebody says so. Else it stays there for ever.
    pub(crate) goes_on: bool,
}

impl Stop {
    pub(crate) fn at(stage: Stage) -> Self {
        Stop {
            stage,
            conversation: None,
            nth: 1,
            goes_on: false,
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

    pub(crate) fn goes_on(mut self) -> Self {
        self.goes_on = true;
        self
    }

    pub(crate) fn is_at(&self, stage: Stage, conversation: &str) -> bool {
        let here = self.conversation.as_deref();
        self.stage == stage && here.is_none_or(|here| here == conversation)
    }

    pub(crate) fn to_value(&self) -> Value {
        json!({
            "stage": self.stage.name(), "conversation": self.conversation, "nth": self.nth,
            "goesOn": self.goes_on,
        })
    }

    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        Some(Stop {
            stage: Stage::named(value["stage"].as_str()?),
            conversation: value["conversation"].as_str().map(str::to_owned),
            nth: value["nth"].as_u64()? as u32,
            goes_on: value["goesOn"].as_bool()?,
        })
    }
}
