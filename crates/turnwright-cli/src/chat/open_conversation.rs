//! The conversation that a chat has open.

use std::cell::Cell;
use std::path::PathBuf;

use turnwright::record::RecordKind;
use turnwright::store::{ConversationId, Query, Store as _, StoreError};

use crate::args;
use crate::exit::misuse;
use crate::storage::{ChatLock, ChatNote, ConversationPart, Storage, check_name, other_server};
use crate::turns::{self, TurnSummary};

/// A stored conversation, locked by this chat.
pub(super) struct OpenConversation {
    pub(super) storage: Storage,
    pub(super) part: ConversationPart,
    pub(super) lock: ChatLock,
    note: ChatNote,
    /// Whether the note of this chat is stored. While the last turn can be resumed, the stored note is that of its chat.
    noted: Cell<bool>,
}

impl OpenConversation {
    /// Opens a conversation, or starts one.
    pub(super) async fn open(
        options: &args::Chat,
        name: &str,
        note: ChatNote,
    ) -> anyhow::Result<Self> {
        check_name(name)?;
        let storage = Storage::open(&options.storage).await?;
        let Some(lock) = ChatLock::take(&storage, &ConversationPart::named(name).name)? else {
            return Err(misuse(format!(
                "the conversation `{name}` is in use by another process. Use another one with `--conversation NAME`, or store \
                 nothing with `--forget`"
            )));
        };
        let mut conversation = OpenConversation {
            part: ConversationPart::current(&storage, name).await?,
            storage,
            lock,
            note,
            noted: Cell::new(false),
        };
        if options.new {
            conversation.part = conversation.part.next_empty(&conversation.storage).await?;
        } else if !options.agent.switch_server {
            conversation.check_server().await?;
        }
        if conversation.unanswered().await?.is_none() {
            conversation.store_note().await?;
        }
        Ok(conversation)
    }

    /// Rejects a conversation with another server: its messages are not sent to this one without `--switch-server`.
    async fn check_server(&self) -> anyhow::Result<()> {
        let with = match self.stored_note().await? {
            Some(before) if before.server == self.note.server => return Ok(()),
            Some(before) => format!("is with {}", before.server),
            None if self.messages().await? == 0 => return Ok(()),
            None => "is of another program, with an unknown server".to_owned(),
        };
        Err(other_server(
            &with,
            &self.note.server,
            ". Otherwise use another conversation with `--conversation NAME`, or start a new part with `--new`",
        ))
    }

    pub(super) fn id(&self) -> ConversationId {
        self.part.conversation_id()
    }

    /// The number of messages, including damaged ones.
    pub(super) async fn messages(&self) -> Result<usize, StoreError> {
        let query = Query::all().kind(RecordKind::Message);
        Ok(self.storage.store.load(&self.id(), &query).await?.count())
    }

    /// Starts the next part. Returns the part before it, if that is another one.
    pub(super) async fn start_next_part(&mut self) -> anyhow::Result<Option<ConversationPart>> {
        let next = self.part.next_empty(&self.storage).await?;
        let before = std::mem::replace(&mut self.part, next);
        self.store_note().await?;
        Ok((before != self.part).then_some(before))
    }

    /// The last turn, if it has no answer and can be resumed.
    pub(super) async fn unanswered(&self) -> Result<Option<TurnSummary>, StoreError> {
        let last = turns::last_turn(&self.storage, &self.id()).await?;
        // No other chat has the conversation: a turn that seems to run may have been interrupted a moment ago.
        Ok(last.filter(TurnSummary::is_resumable))
    }

    /// The stored note, about the chat of the last turn.
    pub(super) async fn stored_note(&self) -> Result<Option<ChatNote>, StoreError> {
        ChatNote::of(&self.storage, &self.id()).await
    }

    /// The tools files of the last turn, if this chat has none. `None` if the turn is not of a chat.
    pub(super) async fn missing_tools(&self) -> Result<Option<Vec<PathBuf>>, StoreError> {
        let had = self.stored_note().await?.map(|note| note.tools);
        Ok(if self.note.tools.is_empty() {
            had
        } else {
            had.map(|_| Vec::new())
        })
    }

    async fn store_note(&self) -> anyhow::Result<()> {
        self.noted.set(true);
        self.note.store(&self.storage, &self.id()).await
    }

    /// Stores the note before a turn. Returns whether the conversation was deleted meanwhile.
    pub(super) async fn renew(&self) -> anyhow::Result<bool> {
        let deleted = self.noted.get() && self.stored_note().await?.is_none();
        if deleted || !self.noted.get() {
            self.store_note().await?;
        }
        Ok(deleted)
    }
}
