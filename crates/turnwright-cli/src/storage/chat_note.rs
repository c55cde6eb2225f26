//! The note of a chat about a conversation: its server, model and folder.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use turnwright::record::RecordKind;
use turnwright::record::{Memory, Record};
use turnwright::store::{ConversationId, StoreError, StoreExt as _};

use super::Storage;
use crate::exit::misuse;

/// The id of the note among the memories of the conversation. A chat does not send memories to a model. The note is deleted
/// with the conversation.
const ID: &str = "turnwright-chat";

/// The server, model and folder of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChatNote {
    /// The URL of the server, without secrets.
    pub(crate) server: String,
    /// Whether the URL is incomplete because of a secret, so that it cannot be used.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) partial: bool,
    pub(crate) model: String,
    /// The folder that the model may read.
    pub(crate) folder: PathBuf,
    /// The tool files of the chat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<PathBuf>,
    /// The system prompt, if it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) no_fetch: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The error for a conversation that would be sent to another server than before.
pub(crate) fn other_server(held: &str, server: &str, alternatives: &str) -> anyhow::Error {
    misuse(format!(
        "this conversation {held}: all of it would be sent to {server}. If you want that, say `--switch-server`{alternatives}"
    ))
}

impl ChatNote {
    /// The note about a conversation, if a chat wrote one.
    pub(crate) async fn of(
        storage: &Storage,
        conversation_id: &ConversationId,
    ) -> Result<Option<Self>, StoreError> {
        let note = storage.store.get(conversation_id, RecordKind::Memory, ID);
        let note = match note.await {
            // A damaged note counts as absent.
            Err(error) if error.damaged_record().is_some() => None,
            note => note?.and_then(Record::downcast::<Memory>),
        };
        Ok(note.and_then(|note| serde_json::from_str(note.text()).ok()))
    }

    /// Stores the note.
    pub(crate) async fn store(
        &self,
        storage: &Storage,
        conversation_id: &ConversationId,
    ) -> anyhow::Result<()> {
        let note = Memory::new(serde_json::to_string(self)?).id(ID).build()?;
        storage.store.put(conversation_id, note).await?;
        Ok(())
    }

    /// Whether a record is such a note.
    pub(crate) fn is(record: &Record) -> bool {
        record.kind() == RecordKind::Memory && record.id() == ID
    }
}
