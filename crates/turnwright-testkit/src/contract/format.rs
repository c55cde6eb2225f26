//! String formats: texts that certainly have a format, and texts that certainly do not.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::pattern::Pattern;

/// A pattern of which every match has the format, and texts that do not have it. Other texts are not judged:
/// validators disagree on leap seconds and unusual hosts.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) valid: Pattern,
    pub(crate) invalid: Vec<String>,
}

/// Returns the format with this name, if it is known.
pub(crate) fn named(name: &str) -> Option<&'static Format> {
    static FORMATS: OnceLock<HashMap<String, Format>> = OnceLock::new();
    let formats = FORMATS.get_or_init(|| {
        let table: HashMap<String, (String, Vec<String>)> =
            serde_json::from_str(include_str!("formats.json")).unwrap_or_default();
        let read = |(name, (valid, invalid)): (String, (String, Vec<String>))| {
            let valid = Pattern::parse(&valid).ok()?;
            Some((name, Format { valid, invalid }))
        };
        table.into_iter().filter_map(read).collect()
    });
    formats.get(name)
}
