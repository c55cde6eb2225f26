//! Retry policy.
//!
//! ```
//! use std::time::Duration;
//! use turnwright_models::retry::RetryPolicy;
//!
//! // Five attempts. A `Retry-After` above ten seconds fails.
//! let policy = RetryPolicy::new().attempts(5).longest_wait(Duration::from_secs(10));
//! # let _ = policy;
//! ```

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// The number of attempts and the wait between them: exponential backoff with jitter. A `Retry-After` from the server
/// overrides the wait.
///
/// ```
/// use std::time::Duration;
/// use turnwright_models::retry::RetryPolicy;
///
/// let patient = RetryPolicy::new().attempts(8).longest_wait(Duration::from_secs(120));
/// let never = RetryPolicy::never();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a policy does nothing until an executor has it"]
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
    /// Creates a policy with four attempts and waits from half a second to one minute.
    pub fn new() -> Self {
        RetryPolicy {
            attempts: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
        }
    }

    /// Creates a policy with one attempt and no retries.
    pub fn never() -> Self {
        RetryPolicy::new().attempts(1)
    }

    /// Sets the number of attempts, at least one. Default: 4.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Sets the wait before the second attempt. Default: 500 ms.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// Sets the maximum wait. If a server asks for more, the request fails. Default: 60 s.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// Starts the attempts of one request.
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

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another attempt after this wait.
    After(Duration),
    /// No attempts remain.
    NoMore,
    /// The server asks for a longer wait than the policy allows.
    TooLong(Duration),
}

impl Attempts {
    /// Returns the number of attempts, including the current one.
    pub(crate) fn made(&self) -> usize {
        self.made
    }

    /// Decides what happens next. `asked` is the wait that the server asks for.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Next {
        let Some(wait) = self.waits.next() else {
            return Next::NoMore;
        };
        match asked {
            Some(asked) if asked > self.longest => Next::TooLong(asked),
            asked => {
                self.made += 1;
                // Jitter can exceed the limit.
                Next::After(asked.unwrap_or(wait).min(self.longest))
            }
        }
    }
}

/// Returns the wait that a server asks for: `retry-after-ms`, otherwise `retry-after` in seconds or as a date.
/// Invalid values count as absent.
pub(crate) fn retry_after<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    now: SystemTime,
) -> Option<Duration> {
    let number = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|number| *number >= 0.0)
    };
    // An overflow is too long in any case.
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    if let Some(millis) = header("retry-after-ms").and_then(number) {
        return Some(seconds(millis / 1_000.0));
    }
    let value = header("retry-after")?;
    match number(value) {
        Some(number_of_seconds) => Some(seconds(number_of_seconds)),
        None => {
            let when = httpdate::parse_http_date(value.trim()).ok()?;
            // A date in the past means immediately.
            Some(when.duration_since(now).unwrap_or_default())
        }
    }
}
