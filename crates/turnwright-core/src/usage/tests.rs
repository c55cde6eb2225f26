use serde_json::json;

use super::Usage;

#[test]
fn all_counts_are_summed_and_saturate() {
    let one = Usage::tokens(10, 5).cached(3).cache_written(4).reasoning(2);
    let most = Usage::tokens(u64::MAX, 1).cache_written(u64::MAX);
    assert_eq!(
        serde_json::to_value(one + one).unwrap(),
        json!({
            "requests": 2, "inputTokens": 20, "cachedInputTokens": 6, "cacheWriteTokens": 8,
            "outputTokens": 10, "reasoningTokens": 4,
        })
    );
    let sum = one + most;
    assert_eq!(
        (sum.cache_write_tokens, sum.cached_input_tokens),
        (u64::MAX, 3)
    );
}

#[test]
fn a_missing_count_is_zero() {
    let earlier = json!({ "requests": 1, "inputTokens": 2, "outputTokens": 3 });
    let usage: Usage = serde_json::from_value(earlier).unwrap();
    assert_eq!(usage, Usage::tokens(2, 3));
}
