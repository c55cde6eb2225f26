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

#[test]
fn advice_names_the_key_of_the_provider() {
    let denied = Error::new(ErrorCode::MODEL_SERVER_ERROR, "no").with_kind(ErrorKind::Denied);
    for (key, expected) in [
        (Some("ANTHROPIC_API_KEY"), "check ANTHROPIC_API_KEY"),
        (Some("OPENAI_API_KEY"), "check OPENAI_API_KEY"),
        (None, "check the access to the server"),
    ] {
        assert_eq!(advice(&denied, key).as_deref(), Some(expected));
    }
}
