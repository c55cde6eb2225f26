//! Checks of records.

use serde_json::Value;
use turnwright_core::record::Record;

pub(super) use crate::suite::{Broken, Outcome, ensure, same};

/// Checks that two records are equal, wherever the bytes of their artifacts are.
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
            map.retain(|name, _| !["spool", "content"].contains(&name.as_str()));
        }
    }
    let mut value = record.to_value()?;
    value
        .pointer_mut("/content/artifact")
        .into_iter()
        .for_each(strip);
    let all = value.pointer_mut("/settled/results/artifacts");
    let all = all.and_then(Value::as_array_mut).into_iter().flatten();
    all.for_each(strip);
    Ok(value)
}
