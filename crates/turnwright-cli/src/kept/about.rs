//! What a chat notes about a conversation: whom it is held with, and where.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use turnwright::record::{Memory, Record};
use turnwright::store::{Scope, StoreExt as _};
use turnwright::{RecordKind, SqliteStore};

use super::Keeping;

/// The note's id among the memories of its conversation. No chat sends memories to a model, so this one neither; it is there
/// as long as the conversation is, and goes with it.
const ID: &str = "turnwright-chat";

/// Whom a conversation is held with, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The server's address, without what may be secret in it.
    pub(crate) server: String,
    /// Whether something was left out of the address, so that it cannot be dialled.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) partial: bool,
    pub(crate) model: String,
    /// The folder that the model may read.
    pub(crate) folder: PathBuf,
    /// The files of tools that it had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<PathBuf>,
    /// What the model was told about its task, where that was not the usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) no_fetch: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_false(it: &bool) -> bool {
    !it
}

impl About {
    /// What is noted about a conversation, if a chat has held it. A note that says nothing is none.
    pub(crate) async fn of(keeping: &Keeping, scope: &Scope) -> anyhow::Result<Option<Self>> {
        About::read(&keeping.store, scope)
            .await
            .map_err(|error| keeping.told(error))
    }

    async fn read(
        store: &SqliteStore,
        scope: &Scope,
    ) -> Result<Option<Self>, turnwright::store::StoreError> {
        let note = match store.get(scope, RecordKind::Memory, ID).await {
            // One that cannot be read says nothing either.
            Err(error) if error.damaged_record().is_some() => None,
            note => note?.and_then(Record::into_memory),
        };
        Ok(note.and_then(|note| serde_json::from_str(note.text()).ok()))
    }

    /// Notes it.
    pub(crate) async fn note(&self, keeping: &Keeping, scope: &Scope) -> anyhow::Result<()> {
        let note = Memory::new(serde_json::to_string(self)?).id(ID).build()?;
        let noted = keeping.store.put(scope, note).await;
        noted.map_err(|error| keeping.told(error))?;
        Ok(())
    }

    /// Whether a record is such a note, and none of what was said and done.
    pub(crate) fn is(record: &Record) -> bool {
        record.kind() == RecordKind::Memory && record.id() == ID
    }
}
