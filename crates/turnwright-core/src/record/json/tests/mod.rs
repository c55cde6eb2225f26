mod agree;
mod bad;
mod bytes;
mod exact;
mod hostile;
mod random;
mod round_trip;

use std::sync::Arc;

use serde_json::Value;

use crate::error::Error;
use crate::record::{ByteResolver, Record};
use crate::spool::MemorySpool;

/// Times as they are stored.
mod time {
    use std::time::SystemTime;

    pub(super) use crate::record::time_text as format;

    pub(super) fn parse(text: &str) -> Option<SystemTime> {
        crate::record::stored::part::deserialize(serde_json::Value::from(text)).ok()
    }
}

fn resolver() -> ByteResolver {
    ByteResolver::new(Arc::new(MemorySpool::default()))
}

/// The record after it was written as text and read again.
fn again(record: &Record, resolver: &ByteResolver) -> Result<Record, Error> {
    let text = record.to_value()?.to_string();
    let value: Value = serde_json::from_str(&text).unwrap();
    Record::from_value(record.kind(), &value, resolver)
}
