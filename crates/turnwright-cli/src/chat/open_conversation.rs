//! The conversation that a chat has open.

use std::cell::Cell;
use std::path::PathBuf;

use turnwright::RecordKind;
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
    /// Whether the note of this chat is stored. Until the last turn is left behind, the stored note is that turn's.
    noted: Cell<bool>,
}

impl OpenConversation {
    /// Opens a conversation, or begins one.
    pub(super) async fn open(
        options: &args::Chat,
        name: &str,
        note: ChatNote,
    ) -> anyhow::Result<Self> {
        check_name(name)?;
        let storage = Storage::open(&options.storage).await?;
        let Some(lock) = ChatLock::take(&storage, &ConversationPart::named(name).name)? else {
            return Err(misuse(format!(
                "the conversation `{name}` is in use by another program: name another one with `--conversation NAME`, \
                 or keep nothing with `--forget`"
            )));
        };
        let mut conversation = OpenConversation {
            part: ConversationPart::current(&storage, name).await?,
            storage,
            lock,
            note,
            noted: Cell::new(false),
        };
        ChatNote::move_from_memory(&conversation.storage, &conversation.id()).await?;
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

    /// Rejects a conversation that was held with another server: its messages are not sent to another server unasked.
    async fn check_server(&self) -> anyhow::Result<()> {
        let with = match self.stored_note().await? {
            Some(before) if before.server == self.note.server => return Ok(()),
            Some(before) => format!("was held with {}", before.server),
            None if self.messages().await? == 0 => return Ok(()),
            None => "was held by another program, with whom is not known".to_owned(),
        };
        Err(other_server(
            &with,
            &self.note.server,
            "; else name another one with `--conversation NAME`, or begin anew with `--new`",
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

    /// Begins the next part. Returns the part before it, if that is another one.
    pub(super) async fn start_next_part(&mut self) -> anyhow::Result<Option<ConversationPart>> {
        let next = self.part.next_empty(&self.storage).await?;
        let before = std::mem::replace(&mut self.part, next);
        self.store_note().await?;
        Ok((before != self.part).then_some(before))
    }

    /// The last turn, if it has no answer and can go on.
    pub(super) async fn unanswered(&self) -> Result<Option<TurnSummary>, StoreError> {
        let last = turns::last_turn(&self.storage, &self.id()).await?;
        // No other chat has the conversation: what seems to run may have been cut off a moment ago.
        Ok(last.filter(TurnSummary::is_resumable))
    }

    /// The stored note: as the chat was that held the last turn.
    pub(super) async fn stored_note(&self) -> Result<Option<ChatNote>, StoreError> {
        ChatNote::of(&self.storage, &self.id()).await
    }

    /// The tools that the last turn had, if this chat has named none. `None` if no chat has held it.
    pub(super) async fn missing_tools(&self) -> Result<Option<Vec<PathBuf>>, StoreError> {
        let had = self.stored_note().await?.map(|note| note.tools);
        Ok(match self.note.tools.is_empty() {
            true => had,
            false => had.map(|_| Vec::new()),
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
