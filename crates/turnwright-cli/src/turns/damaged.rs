//! Records that cannot be read.

use serde_json::{Value, json};
use turnwright::RecordKind;
use turnwright::store::{ConversationId, DamagedRecord};

use crate::storage::Storage;
use crate::terminal::{Screen, one_line, shell_word, style};

/// How much of a sentence about a record is shown.
const LINE: usize = 320;
/// How many are named.
const NAMED: usize = 10;

/// Says which records are damaged, and what can be done about it.
pub(super) fn tell_damaged(
    screen: &mut Screen,
    storage: &Storage,
    damaged: &[(ConversationId, DamagedRecord)],
) -> anyhow::Result<()> {
    for (conversation_id, record) in damaged.iter().take(NAMED) {
        let name = shell_word(conversation_id.as_str());
        let text = format!(
            "in {name}, {}. `turnwright turns delete --conversation {name}{}` deletes the conversation",
            one_line(&record.to_string(), LINE),
            storage.place.option()
        );
        screen.paragraph(style::CARE, "", &text)?;
    }
    if let Some(more) = damaged.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let text = format!("{more} more records are damaged");
        screen.paragraph(style::CARE, "", &text)?;
    }
    Ok(())
}

/// A damaged record, for machines.
pub(super) fn to_value(damaged: &DamagedRecord) -> Value {
    json!({ "damaged": {
        "kind": damaged.kind.map(RecordKind::as_str),
        "id": damaged.id,
        "position": damaged.position.0,
        "reason": damaged.reason,
    } })
}
