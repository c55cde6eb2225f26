//! Random documents and values, checked here and by another implementation of JSON Schema.
//!
//! Each test run checks 10,000 cases. For a long run:
//!
//! ```text
//! TURNWRIGHT_CASES=1000000 cargo test --release -p turnwright-schema --test it differential -- --nocapture
//! ```
//!
//! A failure prints the seed and the smallest document and value that still fail. `TURNWRIGHT_SEED` repeats the same
//! cases.

mod documents;
mod foreign;
mod judge;
mod narrow;
mod numbers;
mod oracle;
mod perturb;
mod plain;
mod rng;
mod shrink;
mod stats;
mod texts;
mod values;
pub(crate) mod walk;

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use turnwright_schema::Schema;

use judge::{Case, judge, judge_text};
use oracle::Oracle;
use rng::Rng;
use stats::Stats;

const CASES: u64 = 1_000;
const VALUES_OF_A_DOCUMENT: u64 = 6;
const SEED: u64 = 0x7075_726E;
const THREADS: u64 = 2;

#[test]
fn random_cases_agree_with_another_implementation() {
    let seed = number_from("TURNWRIGHT_SEED").unwrap_or(SEED);
    let cases = number_from("TURNWRIGHT_CASES").unwrap_or(CASES);
    let documents = cases.div_ceil(VALUES_OF_A_DOCUMENT);
    crate::say(format_args!(
        "TURNWRIGHT_SEED={seed} TURNWRIGHT_CASES={cases}"
    ));
    let failed = &AtomicBool::new(false);
    let stats = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || run(seed, thread, documents, failed)))
            .collect();
        let mut stats = Stats::default();
        for thread in threads {
            match thread.join().unwrap() {
                Ok(part) => stats.merge(part),
                Err(report) => panic!("TURNWRIGHT_SEED={seed} TURNWRIGHT_CASES={cases}\n{report}"),
            }
        }
        stats
    });
    crate::say(&stats);
    stats.assert_worth_something();
}

fn number_from(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text}"))
    })
}

/// Runs all documents of one thread. A rejected document is counted and replaced, so that the number of cases stays
/// the same.
fn run(seed: u64, thread: u64, documents: u64, failed: &AtomicBool) -> Result<Stats, String> {
    let mut stats = Stats::default();
    for index in (thread..documents).step_by(THREADS as usize) {
        if failed.load(Ordering::Relaxed) {
            break;
        }
        let rng = &mut Rng::of_document(seed, index);
        let (schema, oracle) = loop {
            let document = documents::document(rng);
            match Schema::from_document(document.clone()) {
                Ok(schema) => {
                    assert_eq!(
                        *schema.document(),
                        document,
                        "the published document is the given one"
                    );
                    let oracle = Oracle::new(schema.document()).map_err(|error| {
                        format!("document {index} is accepted here and rejected by the other implementation: {error}\n{document}")
                    })?;
                    break (schema, oracle);
                }
                Err(error) => stats.refused_document(
                    error
                        .problems()
                        .first()
                        .map_or(error.to_string(), |problem| problem.message.clone()),
                ),
            }
        };
        stats.document(schema.document());
        for _ in 0..VALUES_OF_A_DOCUMENT {
            let (case, made) = case(schema.document(), &oracle, rng);
            let verdict = judge(&schema, &oracle, &case)
                .and_then(|verdict| judge_text(&schema, case.value()).map(|()| verdict));
            match verdict {
                Ok(verdict) => {
                    stats.case(made, case.must_pass(schema.document(), &oracle), &verdict);
                }
                Err(failure) => {
                    failed.store(true, Ordering::Relaxed);
                    let (document, case, failure) =
                        shrink::smallest(schema.document().clone(), case, failure);
                    return Err(format!(
                        "document {index}: this does not hold: {}\nseen: {}\ndocument: {document}\nvalue: {}",
                        failure.rule,
                        failure.seen,
                        case.value()
                    ));
                }
            }
        }
    }
    Ok(stats)
}

/// Generates one value: half of them from the document, the others random.
fn case(document: &Value, oracle: &Oracle, rng: &mut Rng) -> (Case, bool) {
    if rng.chance(45) {
        return (Case::Plain(values::random::object(rng, 0)), false);
    }
    let mut value = Value::Null;
    for _ in 0..8 {
        value = values::Maker::new(document).value(&[document], rng);
        if oracle.accepts(&value) {
            break;
        }
    }
    let case = match rng.weighted(&[15, 70, 15]) {
        0 => Case::Plain(value),
        1 => Case::Rewritten(perturb::as_models_write(document, value, rng)),
        _ => Case::Plain(perturb::broken(&value, rng)),
    };
    (case, true)
}
