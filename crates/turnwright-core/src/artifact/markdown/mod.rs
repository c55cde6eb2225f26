//! Markdown, asked by its structure.

use std::sync::LazyLock;

use super::query::Query;

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(Vec::new);

/// What can be asked of Markdown beyond what can be asked of text.
pub(super) fn queries() -> &'static [Query] {
    &QUERIES
}
