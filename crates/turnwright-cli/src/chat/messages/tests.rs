use super::*;

#[test]
fn cache_tokens_are_shown_if_there_are_any() {
    let used = Usage::tokens(9, 1);
    assert_eq!(cached(used), "");
    assert_eq!(cached(used.cached(5)), " (5 cached)");
    assert_eq!(cached(used.cache_written(4)), " (4 written to the cache)");
    let both = used.cached(5).cache_written(4);
    assert_eq!(cached(both), " (5 cached, 4 written to the cache)");
}
