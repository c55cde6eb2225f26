//! The note of a chat about a conversation: its server, model and folder.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use turnwright::record::{ConversationInfo, RecordKind};
use turnwright::store::{ConversationId, StoreError, StoreExt as _};

use super::Storage;
use crate::exit::misuse;

/// The name of the note among the data of the conversation's info.
const DATA: &str = "turnwright-chat";

/// The server, model and folder of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChatNote {
    /// The URL of the server, without secrets.
    pub(crate) server: String,
    /// Whether the URL is incomplete because of a secret, so that it cannot be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_fetch: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_exfiltration: bool,
    /// The configurations of its MCP servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) mcp: Vec<PathBuf>,
}

/// The error for a conversation that would be sent to another server than before.
pub(crate) fn other_server(held: &str, server: &str, alternatives: &str) -> anyhow::Error {
    misuse(format!(
        "this conversation {held}. All of it would be sent to {server}. To allow that, pass `--switch-server`{alternatives}"
    ))
}

impl ChatNote {
    /// The note about a conversation, if a chat wrote one.
    pub(crate) async fn of(
        storage: &Storage,
        conversation_id: &ConversationId,
    ) -> Result<Option<Self>, StoreError> {
        let info = match storage.store.conversation_info(conversation_id).await {
            // A damaged note counts as absent.
            Err(error) if error.damaged_record().is_some() => None,
            info => info?,
        };
        let note = info.and_then(|info| info.data.get(DATA).cloned());
        Ok(note.and_then(|note| serde_json::from_value(note).ok()))
    }

    /// Stores the note.
    pub(crate) async fn store(
        &self,
        storage: &Storage,
        conversation_id: &ConversationId,
    ) -> anyhow::Result<()> {
        let (store, note) = (&storage.store, serde_json::to_value(self)?);
        let stored = store.conversation_info(conversation_id).await;
        if stored.is_err_and(|error| error.damaged_record().is_some()) {
            let (kind, id) = (RecordKind::ConversationInfo, ConversationInfo::ID);
            store.delete(conversation_id, kind, id).await?;
        }
        let change = |info: ConversationInfo| info.data(DATA, note.clone());
        store
            .update_conversation_info(conversation_id, change)
            .await?;
        Ok(())
    }
}
