//! The model suite, with correct and incorrect models.

mod broken_models;
mod tampering;

use turnwright_core::Error;
use turnwright_models::Protocol;
use turnwright_models::{AnyCodec, AnyModel, ModelBuilder};
use turnwright_testkit::model::{self, ModelSetup, conformance, requirements, try_requirements};

pub(crate) fn builder(setup: &ModelSetup) -> Result<ModelBuilder<AnyCodec>, Error> {
    let protocol: Protocol = setup.protocol.name().parse()?;
    let retry = turnwright_models::retry::RetryPolicy::new()
        .attempts(setup.attempts)
        .first_wait(setup.first_wait);
    Ok(protocol
        .builder_at(&setup.base_url)
        .model(&setup.model)
        .api_key(&setup.api_key)
        .settings(setup.settings())
        .retry(retry)
        .idle_timeout(setup.idle_timeout)
        .max_event_bytes(setup.max_event_bytes)
        .no_proxy())
}

fn correct(setup: &ModelSetup) -> Result<AnyModel, Error> {
    builder(setup)?.build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn correct_model_passes_on_several_threads() {
    let report = conformance(model::Protocol::Anthropic, correct).await;
    let all = requirements().count();
    let line = format!("the model (anthropic) meets {all} of {all} requirements");
    assert_eq!(report.to_string(), line);
}

#[tokio::test]
#[should_panic(expected = "broken: a streamed response is shown in pieces")]
async fn model_for_another_protocol_fails() {
    let other = |setup: &ModelSetup| {
        let mut setup = setup.clone();
        setup.protocol = model::Protocol::Ollama;
        correct(&setup)
    };
    conformance(model::Protocol::Anthropic, other).await;
}

#[tokio::test]
async fn unknown_requirement_is_reported() {
    let report = try_requirements(model::Protocol::Gemini, &["it is fast"], correct).await;
    assert_eq!(report.broken[0].observed, "there is no such requirement");
    assert!(report.passed.is_empty() && !report.is_ok());
}

#[test]
fn requirements_are_distinct() {
    let mut names: Vec<&str> = requirements().collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
