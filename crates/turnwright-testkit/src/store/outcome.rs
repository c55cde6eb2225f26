//! Results of checks.

use std::fmt::Debug;

use serde_json::Value;
use turnwright_core::record::Record;
use turnwright_core::store::StoreError;

/// What a check observed instead of the requirement.
#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

pub(super) type Outcome = Result<(), Broken>;

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Broken(format!("the store returned an error: {error}"))
    }
}

impl From<turnwright_core::Error> for Broken {
    fn from(error: turnwright_core::Error) -> Self {
        Broken(error.to_string())
    }
}

/// Checks that what was found equals what is required.
#[expect(
    clippy::needless_pass_by_value,
    reason = "callers mostly pass temporaries"
)]
pub(super) fn same<F, P>(what: &str, found: F, promised: P) -> Outcome
where
    F: PartialEq<P> + Debug,
    P: Debug,
{
    let message = || format!("{what}: expected {promised:?}, found {found:?}");
    ensure(found == promised, message)
}

pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    if holds {
        Ok(())
    } else {
        Err(Broken(otherwise()))
    }
}

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
