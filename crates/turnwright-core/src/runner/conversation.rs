//! The turns of one conversation.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::handle::Turn;
use super::input::{ResumeInput, TurnInput};
use super::turn_runner::TurnRunner;
use super::typed::TypedOutcome;
use super::typed_turn::TypedTurn;
use crate::error::Error;
use crate::outcome::TurnOutcome;

/// The turns of one conversation, one after the other. Each turn starts with what the runner's [`History`](super::History)
/// loads of the earlier ones; by default that is everything.
///
/// ```
/// use turnwright_core::{Conversation, DispatchContext, Message};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     ctx.answer(format!("{} messages so far", ctx.records().all::<Message>().len())).await?;
///     Ok(())
/// })
/// .build()?;
/// let mut chat = Conversation::new(&runner, "chat-1");
/// assert_eq!(chat.say("hello").await.text, "1 messages so far");
/// assert_eq!(chat.say("hello again").await.text, "3 messages so far");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Conversation {
    runner: TurnRunner,
    id: Arc<str>,
}

impl Conversation {
    /// The conversation of this id: a new one, or one that the runner's store knows.
    pub fn new(runner: &TurnRunner, id: impl Into<Arc<str>>) -> Self {
        Conversation {
            runner: runner.clone(),
            id: id.into(),
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Says something, and waits for what comes of it.
    pub async fn say(&mut self, input: impl Into<TurnInput>) -> TurnOutcome {
        self.runner
            .run(input.into().conversation(Arc::clone(&self.id)))
            .await
    }

    /// Says something, and waits for an answer of a type: see [`TurnRunner::run_typed`].
    pub async fn say_typed<T: JsonSchema + DeserializeOwned>(
        &mut self,
        input: impl Into<TurnInput>,
    ) -> TypedOutcome<T> {
        let input = input.into().conversation(Arc::clone(&self.id));
        self.runner.run_typed(input).await
    }

    /// Resumes a turn of this conversation: see [`TurnRunner::resume`].
    ///
    /// # Errors
    /// As [`TurnRunner::resume`].
    pub async fn resume(&mut self, turn: impl Into<ResumeInput>) -> Result<Turn, Error> {
        self.runner
            .resume(turn.into().in_conversation(&self.id))
            .await
    }

    /// Says something, and gives the turn as it goes. Let it end before you say more.
    pub fn start(&mut self, input: impl Into<TurnInput>) -> Turn {
        self.runner
            .start(input.into().conversation(Arc::clone(&self.id)))
    }

    /// Says something, and gives the turn as it goes, with partial values of its typed answer: see [`TurnRunner::start_typed`].
    pub fn start_typed<T: JsonSchema + DeserializeOwned>(
        &mut self,
        input: impl Into<TurnInput>,
    ) -> TypedTurn<T> {
        let input = input.into().conversation(Arc::clone(&self.id));
        self.runner.start_typed(input)
    }
}
