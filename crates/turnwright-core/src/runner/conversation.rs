//! The turns of one conversation.

use std::sync::Arc;

use super::input::{ResumeInput, TurnInput};
use super::turn::Turn;
use super::turn_runner::TurnRunner;
use crate::error::Error;
use crate::outcome::TurnOutcome;
use crate::record::ConversationInfo;
use crate::store::StoreError;

/// The turns of one conversation. Each turn starts with the [`History`](super::History) of the earlier ones; by default that is
/// everything.
///
/// ```
/// use turnwright_core::{DispatchContext, Message};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     ctx.answer(format!("{} messages so far", ctx.records().all::<Message>().len())).await?;
///     Ok(())
/// })
/// .build()?;
/// let mut chat = runner.conversation("chat-1");
/// assert_eq!(chat.say("hello").await.text, "1 messages so far");
/// assert_eq!(chat.say("hello again").await.text, "3 messages so far");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[doc(alias("Chat", "Session", "Thread", "chat", "session"))]
#[derive(Clone, Debug)]
pub struct Conversation {
    runner: TurnRunner,
    id: Arc<str>,
}

impl TurnRunner {
    /// Returns a handle to the conversation with this id, which may be new or stored.
    #[doc(alias("chat", "session", "thread"))]
    #[must_use]
    pub fn conversation(&self, id: impl AsRef<str>) -> Conversation {
        Conversation {
            runner: self.clone(),
            id: id.as_ref().into(),
        }
    }
}

impl Conversation {
    /// Returns the conversation id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its metadata, if it has any.
    ///
    /// # Errors
    /// As [`Storage::conversation_info`](crate::Storage::conversation_info).
    pub async fn info(&self) -> Result<Option<Arc<ConversationInfo>>, StoreError> {
        self.runner.storage().conversation_info(&self.id).await
    }

    /// Changes its metadata, and returns what is stored then. A model never sees it.
    ///
    /// ```
    /// # use turnwright_core::DispatchContext;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// # let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    /// #     ctx.answer("Ciao!").await?;
    /// #     Ok(())
    /// # })
    /// # .build()?;
    /// let mut chat = runner.conversation("chat-1");
    /// chat.say("Hello!").await;
    /// chat.update_info(|info| info.title("Greetings").owner("ada")).await?;
    /// assert_eq!(chat.info().await?.and_then(|info| info.title.clone()).as_deref(), Some("Greetings"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Storage::update_conversation_info`](crate::Storage::update_conversation_info).
    pub async fn update_info(
        &self,
        change: impl FnMut(ConversationInfo) -> ConversationInfo + Send,
    ) -> Result<Arc<ConversationInfo>, Error> {
        let storage = self.runner.storage();
        storage.update_conversation_info(&self.id, change).await
    }

    /// Runs a turn and returns its outcome.
    #[doc(alias("chat", "send", "prompt"))]
    pub async fn say(&mut self, input: impl Into<TurnInput>) -> TurnOutcome {
        self.runner
            .run(input.into().conversation(Arc::clone(&self.id)))
            .await
    }

    /// Resumes a turn of this conversation: see [`TurnRunner::resume`].
    ///
    /// # Errors
    /// See [`TurnRunner::resume`].
    pub async fn resume(&mut self, turn: impl Into<ResumeInput>) -> Result<Turn, Error> {
        self.runner
            .resume(turn.into().in_conversation(&self.id))
            .await
    }

    /// Starts a turn. Let it end before you start another one.
    pub fn start(&mut self, input: impl Into<TurnInput>) -> Turn {
        self.runner
            .start(input.into().conversation(Arc::clone(&self.id)))
    }
}
