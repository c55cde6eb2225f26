//! The conformance suite for clients of model servers.
//!
//! [`conformance`] checks every requirement for an [`Executor`] that speaks one of the five
//! [protocols](Protocol). Each requirement is checked against a new [strict](crate::server::model::check()) server on
//! loopback, which rejects requests that the real server would reject or that lose part of a conversation:
//!
//! ```
//! use turnwright_models::Anthropic;
//! use turnwright_models::retry::RetryPolicy;
//! use turnwright_testkit::model::{ModelSetup, Protocol, conformance};
//!
//! // In your project: #[tokio::test]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let report = conformance(Protocol::Anthropic, |setup: &ModelSetup| {
//!     let retry = RetryPolicy::new().attempts(setup.attempts).first_wait(setup.first_wait);
//!     Anthropic::builder(&setup.base_url)
//!         .model(&setup.model)
//!         .api_key(&setup.api_key)
//!         .settings(setup.settings())
//!         .retry(retry)
//!         .idle_timeout(setup.idle_timeout)
//!         .max_event_bytes(setup.max_event_bytes)
//!         .no_proxy()
//!         .build()
//! })
//! .await;
//! assert!(report.is_ok());
//! # });
//! ```
//!
//! [`requirements`] lists what is checked. The last ones run the same agent in every protocol: tools, approvals, a
//! large result that is queried as an artifact, a typed answer, a turn that is suspended or fails and is resumed by
//! another runner, and a turn that is cancelled in flight.

mod agent;
mod checks;
mod exchange;
mod serialised;
mod setup;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use turnwright_core::{BoxError, Executor};

use crate::suite::{Broken, Subject};
use checks::Check;
use exchange::{Built, Exchange, Make};

pub use setup::ModelSetup;

pub use crate::server::model::Protocol;
pub use crate::suite::{Finding, Report};

/// Longer than any check may take.
const BOUND: Duration = Duration::from_secs(60);

/// Runs all checks against a model. `make` creates it for a server; it is called at least once per check. Must run
/// inside a Tokio runtime with I/O and time.
///
/// # Panics
///
/// Panics if the model fails a check. The message lists the failed checks, with what was observed.
/// [`try_conformance`] returns the report instead.
pub async fn conformance<E, X>(
    protocol: Protocol,
    make: impl Fn(&ModelSetup) -> Result<E, X> + Send + Sync,
) -> Report
where
    E: Executor + Debug + 'static,
    X: Into<BoxError>,
{
    try_conformance(protocol, make).await.expect_ok()
}

/// Runs all checks against a model and returns the report. See [`conformance`].
pub async fn try_conformance<E, X>(
    protocol: Protocol,
    make: impl Fn(&ModelSetup) -> Result<E, X> + Send + Sync,
) -> Report
where
    E: Executor + Debug + 'static,
    X: Into<BoxError>,
{
    run(protocol, checks::ALL, &built(make)).await
}

/// Runs only the checks of these requirements, for example to debug a failure. See [`conformance`] and [`requirements`].
///
/// ```
/// use turnwright_models::Ollama;
/// use turnwright_testkit::model::{ModelSetup, Protocol, try_requirements};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let only = ["images are sent", "tokens are counted"];
/// let report = try_requirements(Protocol::Ollama, &only, |setup: &ModelSetup| {
///     Ollama::builder(&setup.base_url).model(&setup.model).settings(setup.settings()).no_proxy().build()
/// })
/// .await;
/// assert_eq!(report.passed, only);
/// # });
/// ```
pub async fn try_requirements<E, X>(
    protocol: Protocol,
    only: &[&str],
    make: impl Fn(&ModelSetup) -> Result<E, X> + Send + Sync,
) -> Report
where
    E: Executor + Debug + 'static,
    X: Into<BoxError>,
{
    let is_meant = |check: &&Check| only.contains(&check.requirement);
    let checks: Vec<Check> = checks::ALL.iter().filter(is_meant).copied().collect();
    let mut report = run(protocol, &checks, &built(make)).await;
    let unknown = only
        .iter()
        .filter(|name| !requirements().any(|known| known == **name));
    for name in unknown {
        let unknown = Broken("there is no such requirement".to_owned());
        report.note((*name).to_owned(), Err(unknown));
    }
    report
}

fn built<E, X>(
    make: impl Fn(&ModelSetup) -> Result<E, X> + Send + Sync,
) -> impl Fn(&ModelSetup) -> Result<Built, Broken> + Send + Sync
where
    E: Executor + Debug + 'static,
    X: Into<BoxError>,
{
    move |setup: &ModelSetup| match make(setup) {
        Ok(model) => Ok(Built {
            shown: format!("{model:?} {model:#?}"),
            executor: Arc::new(model),
        }),
        Err(error) => {
            let error: BoxError = error.into();
            Err(Broken(format!("the model cannot be created: {error}")))
        }
    }
}

async fn run(protocol: Protocol, checks: &[Check], make: &Make<'_>) -> Report {
    let mut report = Report::of(Subject::Model(protocol.name()));
    for check in checks {
        let outcome = match Exchange::start(protocol, make).await {
            Ok(exchange) => match tokio::time::timeout(BOUND, (check.run)(&exchange)).await {
                Ok(outcome) => exchange.verdict(outcome),
                Err(_) => Err(Broken(format!("the check did not end within {BOUND:?}"))),
            },
            Err(broken) => Err(broken),
        };
        report.note(check.requirement.to_owned(), outcome);
    }
    report
}

/// Returns all requirements, in the order in which they are checked.
///
/// ```
/// use turnwright_testkit::model::requirements;
///
/// assert!(requirements().any(|name| name == "a call of a response that was cut off never runs"));
/// ```
pub fn requirements() -> impl Iterator<Item = &'static str> {
    checks::ALL.iter().map(|check| check.requirement)
}
