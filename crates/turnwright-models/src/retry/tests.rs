use std::time::{Duration, UNIX_EPOCH};

use super::{Next, RetryPolicy, retry_after};

fn wait_for(name: &'static str, value: &'static str) -> Option<Duration> {
    // 1994-11-06 08:49:37, the example of the standard.
    let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
    retry_after(move |asked| (asked == name).then_some(value), now)
}

#[test]
fn retry_after_may_be_seconds_milliseconds_or_a_date() {
    let cases = [
        ("retry-after", "2", Some(2_000)),
        ("retry-after", " 1.5 ", Some(1_500)),
        ("retry-after", "0", Some(0)),
        ("retry-after-ms", "250", Some(250)),
        ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
        ("retry-after", "Sun, 06 Nov 1994 08:49:27 GMT", Some(0)),
        ("retry-after", "soon", None),
        ("retry-after", "-5", None),
        ("retry-after", "NaN", None),
        ("retry-after-ms", "NaN", None),
        ("retry-after", "", None),
        ("x-other", "5", None),
    ];
    for (name, value, millis) in cases {
        assert_eq!(
            wait_for(name, value),
            millis.map(Duration::from_millis),
            "{name}: {value}"
        );
    }
}

#[test]
fn overflowing_retry_after_is_too_long() {
    for forever in ["1e300", "inf"] {
        assert_eq!(wait_for("retry-after", forever), Some(Duration::MAX));
    }
}

#[test]
fn waits_grow_up_to_the_limit_for_the_set_number_of_attempts() {
    let policy = RetryPolicy::new()
        .attempts(5)
        .first_wait(Duration::from_millis(100))
        .longest_wait(Duration::from_millis(450));
    let mut attempts = policy.begin();
    let mut waits = Vec::new();
    while let Next::After(wait) = attempts.next(None) {
        waits.push(wait.as_millis());
    }
    assert_eq!((attempts.made(), waits.len()), (5, 4));
    // Jitter adds up to as much again.
    for (wait, least) in waits.iter().zip([100, 200, 400, 450]) {
        assert!((least..=450).contains(wait), "{waits:?}");
    }
    assert_eq!(attempts.next(None), Next::NoMore);
}

#[test]
fn retry_after_overrides_the_wait_up_to_the_limit() {
    let policy = RetryPolicy::new().longest_wait(Duration::from_secs(3));
    let mut attempts = policy.begin();
    let asked = Duration::from_secs(2);
    assert_eq!(attempts.next(Some(asked)), Next::After(asked));
    let long = Duration::from_secs(4);
    assert_eq!(attempts.next(Some(long)), Next::TooLong(long));
    assert_eq!(attempts.made(), 2);
}

#[test]
fn never_makes_one_attempt() {
    let mut attempts = RetryPolicy::never().begin();
    assert_eq!(attempts.next(Some(Duration::ZERO)), Next::NoMore);
    assert_eq!(attempts.made(), 1);
}
