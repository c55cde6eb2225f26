//! When a request is made again, and after how long.
//!
//! ```
//! use std::time::Duration;
//! use turnwright_models::retry::RetryPolicy;
//!
//! // Five attempts in all; a server that asks for more than ten seconds is not waited for.
//! let policy = RetryPolicy::new().attempts(5).longest_wait(Duration::from_secs(10));
//! # let _ = policy;
//! ```

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// How often a request is made, and how long to wait in between: twice as long each time, with a share that is left to
/// chance, so that many who failed together do not come back together. What the server says in `Retry-After` counts more.
#[derive(Clone, Debug)]
#[must_use = "a policy does nothing until a battery has it"]
pub struct RetryPolicy {
    attempts: usize,
    first_wait: Duration,
    longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy::new()
    }
}

impl RetryPolicy {
    /// Four attempts; half a second before the second; never more than a minute.
    pub fn new() -> Self {
        RetryPolicy {
            attempts: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
        }
    }

    /// One attempt and no other.
    pub fn never() -> Self {
        RetryPolicy::new().attempts(1)
    }

    /// So many attempts in all, at least one.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The wait before the second attempt.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// The longest wait. A server that asks for more is not waited for: the request fails, and says so.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// The attempts of one request.
    pub(crate) fn begin(&self) -> Attempts {
        let waits = ExponentialBuilder::default()
            .with_min_delay(self.first_wait.min(self.longest_wait))
            .with_max_delay(self.longest_wait)
            .with_max_times(self.attempts.saturating_sub(1))
            .with_jitter();
        Attempts {
            made: 1,
            waits: waits.build(),
            longest: self.longest_wait,
        }
    }
}

/// The attempts of one request.
#[derive(Debug)]
pub(crate) struct Attempts {
    made: usize,
    waits: ExponentialBackoff,
    longest: Duration,
}

/// What comes after an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another, after this long.
    After(Duration),
    /// None: there were as many as may be.
    NoMore,
    /// None: the server asks for a longer wait than may be.
    TooLong(Duration),
}

impl Attempts {
    /// How many were made, this one included.
    pub(crate) fn made(&self) -> usize {
        self.made
    }

    /// What comes next, where the server may have said when.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Next {
        let Some(wait) = self.waits.next() else {
            return Next::NoMore;
        };
        match asked {
            Some(asked) if asked > self.longest => Next::TooLong(asked),
            asked => {
                self.made += 1;
                // Chance may have made it longer than it may be.
                Next::After(asked.unwrap_or(wait).min(self.longest))
            }
        }
    }
}

/// How long a server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date. What cannot be read was not
/// said.
pub(crate) fn retry_after<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    now: SystemTime,
) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|it| *it >= 0.0);
    // What is longer than can be said is too long in any case.
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    if let Some(millis) = header("retry-after-ms").and_then(number) {
        return Some(seconds(millis / 1_000.0));
    }
    let said = header("retry-after")?;
    match number(said) {
        Some(told) => Some(seconds(told)),
        None => {
            let when = httpdate::parse_http_date(said.trim()).ok()?;
            // A date that has passed: at once.
            Some(when.duration_since(now).unwrap_or_default())
        }
    }
}
