//! Lines of text: what can be asked of every artifact.

use std::sync::LazyLock;

use super::query::Query;

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(Vec::new);

/// What can be asked of every artifact.
#[allow(dead_code, reason = "forging comes next")]
pub(super) fn queries() -> &'static [Query] {
    &QUERIES
}

pub(super) fn shown(bytes: &[u8], _most: usize) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
