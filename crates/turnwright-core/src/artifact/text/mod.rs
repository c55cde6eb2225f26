//! Lines of text: what can be asked of every artifact.

use std::sync::LazyLock;

use super::query::Query;

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(Vec::new);

/// What can be asked of every artifact.
#[allow(dead_code, reason = "forging comes next")]
pub(super) fn queries() -> &'static [Query] {
    &QUERIES
}
