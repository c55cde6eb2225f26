//! Finds the turns that run in this process, and reattaches to a turn: replays what it has done so far, then follows it.

use std::sync::Arc;

use super::follow::Follower;
use super::resume::unknown;
use super::stored_turn::{StoredTurn, interrupted};
use super::turn::{Controls, Turn};
use super::turn_runner::TurnRunner;
use crate::error::Error;
use crate::gate::Gates;
use crate::record::TurnState;
use crate::storage::{Storage, TurnKey};
use crate::store::ConversationId;
use crate::tool::context::TurnContext;

impl TurnRunner {
    /// Attaches another reader to a turn of a conversation: after a client has reconnected, or for a second screen.
    ///
    /// The stream first replays what the turn has done so far: [`TurnStart`](crate::EventKind::TurnStart), its stored
    /// messages, thoughts and calls, and, for a turn of this runner, open gates and the text that is being written, as one
    /// delta. Then the live events follow, without a gap and without duplicates. Any number of readers can attach.
    ///
    /// - A turn that runs in this runner: as above. The returned [`Turn`] can also cancel it and answer at its gates.
    /// - A turn that has ended or is suspended: its records, its open gates and [`TurnEnd`](crate::EventKind::TurnEnd) are
    ///   read from the store.
    /// - A turn that runs elsewhere, in another process or another runner: its records and gates appear as they are stored,
    ///   without deltas. The returned [`Turn`] cannot cancel or suspend it (`E_TURN_HELD`) and has no gates: answer with
    ///   [`TurnRunner::answer_gate`].
    /// - A turn whose process is gone fails with `E_TURN_INTERRUPTED`: continue it with [`TurnRunner::resume`], with
    ///   [`TurnInput::replay`](super::TurnInput::replay) if its reader needs the earlier records. The response that was
    ///   interrupted is generated again. If that is found out only later, because the lease of the process had not expired,
    ///   the stream ends with that code.
    ///
    /// Only turns whose input named a conversation can be found.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, EventKind, TurnInput};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer("Hello.").await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// // The client disconnects immediately; the turn continues.
    /// drop(runner.start(TurnInput::new("Hello!").conversation("chat-1").turn_id("turn-1")));
    ///
    /// let mut turn = runner.attach("chat-1", "turn-1").await?;
    /// while let Some(event) = turn.next().await {
    ///     if let EventKind::Message(message) = &event.kind {
    ///         assert_eq!(message.text(), "Hello.");
    ///     }
    /// }
    /// assert_eq!(turn.await.text, "Hello.");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// - `E_UNKNOWN_TURN` if the conversation has no such turn.
    /// - `E_TURN_INTERRUPTED` if its process is gone, see above.
    /// - `E_STORE_ERROR` if the store fails.
    #[doc(alias("reconnect", "resumable_stream"))]
    pub async fn attach(
        &self,
        conversation: impl AsRef<str>,
        turn_id: impl AsRef<str>,
    ) -> Result<Turn, Error> {
        let conversation: Arc<str> = conversation.as_ref().into();
        let turn_id = turn_id.as_ref();
        if let Some(turn) = self.live_turn(&conversation, turn_id)
            && let Some(attached) = attached(&turn)
        {
            return Ok(attached);
        }
        let store = self.storage().store();
        let conversation_id = ConversationId::new(conversation);
        let stored = StoredTurn::load(&**store, &conversation_id, turn_id, self.tools()).await?;
        let stored = stored.ok_or_else(|| unknown(turn_id, &conversation_id))?;
        if stored.turn.state != TurnState::Running {
            let hub = stored.hub();
            stored.end(&hub);
            return Ok(Turn::ended(stored.outcome(), hub.subscribe(true)));
        }
        if !stored.may_be_running(&**store).await? {
            return Err(interrupted(turn_id));
        }
        Ok(Follower::start(Arc::clone(store), stored, None))
    }
}

/// A live turn with one more reader. `None` if it has just ended.
pub(super) fn attached(turn: &TurnContext) -> Option<Turn> {
    let outcome = turn.watch_outcome()?;
    let ids = (turn.shared_id(), &turn.conversation_id().shared());
    let controls = Arc::new(Controls::of(turn).into());
    let stream = turn.hub().subscribe(true);
    let mut attached = Turn::new(ids, controls, async { outcome.await.ok() }, stream);
    attached.gates = Some(Gates::new(turn.gates().clone()));
    attached.format = turn.shared_answer_format();
    Some(attached)
}

/// Returns the turn with this id that runs in this process on this storage. If there are several, all but the holder of the lease are
/// about to fail.
pub(super) fn running(storage: &Storage, key: &TurnKey) -> Option<TurnContext> {
    let same = storage.live_turns().find(key).into_iter();
    let mut same: Vec<TurnContext> = same.filter_map(TurnContext::of_erased).collect();
    let holder = same.iter().position(|turn| turn.lease().is_some());
    let last = same.len().checked_sub(1);
    Some(same.swap_remove(holder.or(last)?))
}

impl TurnRunner {
    /// Returns the turn with this id that this runner runs.
    pub(super) fn live_turn(&self, conversation: &Arc<str>, turn_id: &str) -> Option<TurnContext> {
        let key = (Arc::clone(conversation), turn_id.into());
        running(self.storage(), &key).filter(|turn| self.runs(turn))
    }
}
