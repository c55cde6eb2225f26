//! JSON, JSON lines and JSON5, asked by JSONPath.

use std::sync::LazyLock;

use super::query::Query;

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(Vec::new);

/// What can be asked of JSON beyond what can be asked of text.
pub(super) fn queries() -> &'static [Query] {
    &QUERIES
}
