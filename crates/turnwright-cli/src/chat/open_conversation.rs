//! The conversation that a chat has open.

use std::cell::Cell;
use std::path::PathBuf;

use turnwright::RecordKind;
use turnwright::store::{Query, Store as _};

use crate::exit::misuse;
use crate::storage::{
    ChatLock, ChatNote, ConversationPart, Storage, StorageLocation, check_name, other_server,
};
use crate::turns::{self, TurnSummary};

/// A stored conversation, locked by this chat.
pub(super) struct OpenConversation {
    pub(super) storage: Storage,
    pub(super) part: ConversationPart,
    pub(super) desk: ChatLock,
    about: ChatNote,
    /// Whether it is noted whom the conversation is held with. Until its last turn is left behind, what is noted is what that
    /// turn had.
    noted: Cell<bool>,
}

/// How a chat starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartMode {
    /// Where it was, with the server that knows it.
    On,
    /// Where it was, with whichever server.
    OnElsewhere,
    /// From its beginning.
    Anew,
}

impl OpenConversation {
    /// Opens a conversation, or begins one.
    pub(super) async fn take(
        place: StorageLocation,
        name: &str,
        going: StartMode,
        about: ChatNote,
    ) -> anyhow::Result<Self> {
        check_name(name)?;
        let storage = Storage::open(place).await?;
        let Some(desk) = ChatLock::take(&storage, &ConversationPart::named(name).name)? else {
            return Err(misuse(format!(
                "the conversation `{name}` is in use by another program: name another one with `--conversation NAME`, \
                 or keep nothing with `--forget`"
            )));
        };
        let mut conversation = OpenConversation {
            part: ConversationPart::current(&storage, name).await?,
            storage,
            desk,
            about,
            noted: Cell::new(false),
        };
        if going == StartMode::On {
            conversation.check_server().await?;
        }
        // Last, so that a failure leaves everything unchanged.
        if going == StartMode::Anew {
            conversation.part = conversation.part.next_empty(&conversation.storage).await?;
        }
        if conversation.unanswered().await?.is_none() {
            conversation.note().await?;
        }
        Ok(conversation)
    }

    /// Rejects a conversation that was held with another server: its messages are not sent to another server unasked.
    async fn check_server(&self) -> anyhow::Result<()> {
        let with = match ChatNote::of(&self.storage, &self.part.conversation_id()).await? {
            Some(before) if before.server == self.about.server => return Ok(()),
            Some(before) => format!("was held with {}", before.server),
            None if self.messages().await? == 0 => return Ok(()),
            None => "was held by another program, with whom is not known".to_owned(),
        };
        Err(other_server(
            &with,
            &self.about.server,
            "; else name another one with `--conversation NAME`, or begin anew with `--new`",
        ))
    }

    /// The number of messages, including damaged ones.
    pub(super) async fn messages(&self) -> anyhow::Result<usize> {
        let query = Query::all().kind(RecordKind::Message);
        let loaded = self
            .storage
            .store
            .load(&self.part.conversation_id(), &query)
            .await;
        let loaded = loaded.map_err(|error| self.storage.explain(error))?;
        Ok(loaded.count())
    }

    /// Begins anew. The part in which was said what was said before, if something was.
    pub(super) async fn begin_anew(&mut self) -> anyhow::Result<Option<ConversationPart>> {
        let next = self.part.next_empty(&self.storage).await?;
        let before = std::mem::replace(&mut self.part, next);
        self.note().await?;
        Ok((before != self.part).then_some(before))
    }

    /// The last turn, if it has no answer and can go on.
    pub(super) async fn unanswered(&self) -> anyhow::Result<Option<TurnSummary>> {
        let last = turns::last_of(&self.storage, &self.part.conversation_id()).await?;
        // No other chat has the conversation: what seems to run may have been cut off a moment ago.
        Ok(last.filter(|last| last.state.can_go_on() || last.state.is_live()))
    }

    /// What is noted: as the chat was that held its last turn.
    pub(super) async fn last_about(&self) -> anyhow::Result<Option<ChatNote>> {
        ChatNote::of(&self.storage, &self.part.conversation_id()).await
    }

    /// The tools that the last turn had, where this chat has named none. None if no chat has held it.
    pub(super) async fn missing_tools(&self) -> anyhow::Result<Option<Vec<PathBuf>>> {
        let had = self.last_about().await?.map(|about| about.tools);
        Ok(match self.about.tools.is_empty() {
            true => had,
            false => had.map(|_| Vec::new()),
        })
    }

    /// Notes whom the conversation is held with.
    async fn note(&self) -> anyhow::Result<()> {
        self.noted.set(true);
        self.about
            .note(&self.storage, &self.part.conversation_id())
            .await
    }

    /// The same before each turn. Whether somebody has deleted the conversation meanwhile.
    pub(super) async fn renew(&self) -> anyhow::Result<bool> {
        if !self.noted.get() {
            self.note().await?;
            return Ok(false);
        }
        let gone = self.last_about().await?.is_none();
        if gone {
            self.note().await?;
        }
        Ok(gone)
    }
}
