//! The conformance suite for all five protocols.
//!
//! Each requirement is checked against a new strict server on loopback, which rejects requests that the real server would
//! reject or that lose part of a conversation. [`checks`] lists the requirements. The last ones run the same agent in
//! every protocol.

mod agent;
mod broken_models;
mod checks;
mod exchange;
mod protocol_change;
mod serialised;
mod tampering;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use turnwright_core::store::StoreError;
use turnwright_core::{Error, Executor, ModelSettings};
use turnwright_models::retry::RetryPolicy;
use turnwright_models::{AnyCodec, ModelBuilder};
use turnwright_testkit::server::model::Protocol;

use checks::Check;
use exchange::Exchange;

/// Longer than any check may take.
const BOUND: Duration = Duration::from_secs(60);

/// What a check observed instead of the requirement.
#[derive(Debug)]
struct Broken(String);

type Outcome = Result<(), Broken>;

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Broken(error.to_string())
    }
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Broken(error.to_string())
    }
}

/// Checks that what was found equals what is required.
#[allow(
    clippy::needless_pass_by_value,
    reason = "most callers have just created the values"
)]
fn same<F, P>(what: &str, found: F, required: P) -> Outcome
where
    F: PartialEq<P> + Debug,
    P: Debug,
{
    ensure(found == required, || {
        format!("{what}: expected {required:?}, found {found:?}")
    })
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    if holds {
        Ok(())
    } else {
        Err(Broken(otherwise()))
    }
}

/// How to create the model under test.
struct ModelSetup {
    protocol: Protocol,
    url: String,
    /// Must not appear in errors, in events or in the output of `Debug`.
    api_key: String,
    stream: bool,
    attempts: usize,
    idle_timeout: Duration,
    max_event_bytes: usize,
}

impl ModelSetup {
    fn new(protocol: Protocol, url: String) -> Self {
        ModelSetup {
            protocol,
            url,
            api_key: "sk-conformance-1234567890".to_owned(),
            stream: true,
            attempts: 3,
            idle_timeout: BOUND,
            max_event_bytes: 1 << 20,
        }
    }

    fn builder(&self) -> ModelBuilder<AnyCodec> {
        let protocol: turnwright_models::Protocol = self.protocol.name().parse().unwrap();
        let options = json!({ "stream": self.stream });
        protocol
            .builder_at(crate::base_url(protocol, &self.url))
            .model("scripted")
            .api_key(&self.api_key)
            .settings(ModelSettings::new().provider(self.protocol.name(), options))
            .retry(retry(self.attempts))
            .idle_timeout(self.idle_timeout)
            .max_event_bytes(self.max_event_bytes)
            .no_proxy()
    }
}

fn retry(attempts: usize) -> RetryPolicy {
    let policy = RetryPolicy::new().attempts(attempts);
    policy.first_wait(Duration::from_millis(1))
}

/// A model that was created for a check.
struct Built {
    executor: Arc<dyn Executor>,
    /// The output of `Debug`.
    shown: String,
}

impl Built {
    fn new(model: impl Executor + Debug + 'static) -> Self {
        Built {
            shown: format!("{model:?} {model:#?}"),
            executor: Arc::new(model),
        }
    }
}

type Make<'a> = dyn Fn(&ModelSetup) -> Result<Built, Error> + Send + Sync + 'a;

fn correct(setup: &ModelSetup) -> Result<Built, Error> {
    setup.builder().build().map(Built::new)
}

/// Runs a check with a new server.
async fn run(protocol: Protocol, check: &Check, make: &Make<'_>) -> Outcome {
    let exchange = Exchange::start(protocol, make).await;
    match tokio::time::timeout(BOUND, (check.run)(&exchange)).await {
        Ok(outcome) => exchange.verdict(outcome),
        Err(_) => Err(Broken(format!("the check did not end within {BOUND:?}"))),
    }
}

/// Runs all checks for a protocol. Returns a line for each requirement that is not met.
async fn broken(protocol: Protocol, make: &Make<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    for check in checks::ALL {
        if let Err(Broken(observed)) = run(protocol, check, make).await {
            broken.push(format!("broken: {}\n  {observed}", check.requirement));
        }
    }
    broken
}

async fn conforms(protocol: Protocol) {
    let broken = broken(protocol, &correct).await;
    assert!(broken.is_empty(), "{protocol}: {}", broken.join("\n"));
}

#[tokio::test]
async fn chat_completions_conforms() {
    conforms(Protocol::ChatCompletions).await;
}

#[tokio::test]
async fn responses_conforms() {
    conforms(Protocol::Responses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropic_conforms() {
    conforms(Protocol::Anthropic).await;
}

#[tokio::test]
async fn gemini_conforms() {
    conforms(Protocol::Gemini).await;
}

#[tokio::test]
async fn ollama_conforms() {
    conforms(Protocol::Ollama).await;
}

#[tokio::test]
async fn model_for_another_protocol_fails() {
    let other = |setup: &ModelSetup| {
        let other = ModelSetup::new(Protocol::Ollama, setup.url.clone());
        correct(&other)
    };
    let outcome = run(Protocol::Anthropic, &checks::ALL[0], &other).await;
    assert!(outcome.is_err());
}

#[test]
fn requirements_are_distinct() {
    let mut names: Vec<&str> = checks::ALL.iter().map(|check| check.requirement).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), checks::ALL.len());
}
