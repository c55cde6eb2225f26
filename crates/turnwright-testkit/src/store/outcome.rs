//! How a check says what it saw.

use std::fmt::Debug;

use serde_json::Value;
use turnwright_core::record::Record;
use turnwright_core::store::{ConversationId, Query, Store, StoreError};

/// What a check saw instead of what was promised.
#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

pub(super) type Outcome = Result<(), Broken>;

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Broken(format!("the store says: {error}"))
    }
}

impl From<turnwright_core::Error> for Broken {
    fn from(error: turnwright_core::Error) -> Self {
        Broken(error.to_string())
    }
}

/// What a check found must be what was promised.
#[expect(
    clippy::needless_pass_by_value,
    reason = "what is compared is mostly made for it"
)]
pub(super) fn same<T: PartialEq + Debug>(what: &str, found: T, promised: T) -> Outcome {
    ensure(found == promised, || {
        format!("{what}: expected {promised:?}, found {found:?}")
    })
}

pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    match holds {
        true => Ok(()),
        false => Err(Broken(otherwise())),
    }
}

/// The ids that a query finds.
pub(super) async fn ids(
    store: &dyn Store,
    conversation_id: &ConversationId,
    query: &Query,
) -> Result<Vec<String>, Broken> {
    let loaded = store.load(conversation_id, query).await?;
    Ok(loaded
        .into_records()
        .map(|record| record.id().to_owned())
        .collect())
}

/// Whether two records are the same, whoever keeps the bytes of their artifacts.
pub(super) async fn same_record(found: &Record, written: &Record) -> Outcome {
    let what = format!("the {} {:?}", written.kind(), written.id());
    same(&what, without_bytes(found)?, without_bytes(written)?)?;
    for (found, written) in found.artifacts().iter().zip(written.artifacts()) {
        let (found, written) = (found.as_bytes().await?, written.as_bytes().await?);
        same(&format!("the bytes in {what}"), found, written)?;
    }
    Ok(())
}

fn without_bytes(record: &Record) -> Result<Value, Broken> {
    fn strip(artifact: &mut Value) {
        if let Some(map) = artifact.as_object_mut() {
            map.retain(|name, _| !["spool", "text", "base64"].contains(&name.as_str()));
        }
    }
    let mut value = record.to_value()?;
    if let Some(artifact) = value.pointer_mut("/artifact") {
        strip(artifact);
    }
    let all = value.pointer_mut("/results/artifacts");
    all.and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .for_each(strip);
    Ok(value)
}
