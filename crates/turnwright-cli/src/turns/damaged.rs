//! Records that cannot be read.

use serde_json::{Value, json};
use turnwright::record::RecordKind;
use turnwright::store::{ConversationId, DamagedRecord};

use crate::exit::Exit;
use crate::storage::Storage;
use crate::terminal::{Screen, one_line, shell_word};

/// The most characters of a sentence about a record.
const LINE: usize = 320;
/// The most records that are named.
const NAMED: usize = 10;

/// Damaged records, with their conversations.
pub(super) type Damaged = Vec<(ConversationId, DamagedRecord)>;

/// Prints which records are damaged and what to do, and returns the exit code.
pub(super) fn report(
    screen: &mut Screen,
    storage: &Storage,
    damaged: &Damaged,
) -> anyhow::Result<Exit> {
    for (conversation_id, record) in damaged.iter().take(NAMED) {
        let name = shell_word(conversation_id.as_str());
        screen.warn(format!(
            "{name}: {}. Delete the conversation with `turnwright turns delete --conversation {name}{}`",
            one_line(&record.to_string(), LINE),
            storage.place.option()
        ))?;
    }
    if damaged.len() > NAMED {
        let more = damaged.len() - NAMED;
        screen.warn(format!("{more} more records are damaged"))?;
    }
    Ok(if damaged.is_empty() {
        Exit::Done
    } else {
        Exit::No
    })
}

/// A damaged record as JSON.
pub(super) fn to_value(damaged: &DamagedRecord) -> Value {
    json!({ "damaged": {
        "kind": damaged.kind.map(RecordKind::as_str),
        "id": damaged.id,
        "position": damaged.position.0,
        "reason": damaged.reason,
    } })
}
