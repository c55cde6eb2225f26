//! Correct tools with documents made at random: not one false alarm.

use turnwright_core::Tool;
use turnwright_core::schema::Schema;
use turnwright_testkit::contract::Fuzz;

use crate::never;
use crate::random_document::{Dice, document};

/// More with `CONTRACT_DOCUMENTS=10000`.
fn documents() -> u64 {
    std::env::var("CONTRACT_DOCUMENTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(60)
}

#[test]
fn random_documents_raise_no_false_alarm() {
    let (mut tried, mut accepted, mut broken) = (0, 0, 0);
    for seed in 0..documents() {
        let document = document(&mut Dice::new(seed));
        // Some contradict themselves, for example with a default that is refused: not built, nothing to try.
        let Ok(schema) = Schema::from_document(document.clone()) else {
            continue;
        };
        let tool = Tool::dynamic("random", schema)
            .description("Random.")
            .handler(never)
            .build()
            .unwrap();
        let result = Fuzz::new().cases(60).seed(seed).run(&tool);
        let report = match &result {
            Ok(report) => report,
            Err(failure) => failure.report(),
        };
        // That nothing satisfies a document may be true; that something does not hold may not.
        assert!(
            report.findings.is_empty(),
            "seed {seed}: {document}\n{}",
            result.unwrap_err()
        );
        tried += 1;
        accepted += report.accepted;
        broken += report.broken;
    }
    println!("{tried} documents, {accepted} values accepted, {broken} broken");
    assert!(
        tried * 10 >= documents() * 9,
        "only {tried} documents were built"
    );
    assert!(
        accepted > 30 * usize::try_from(tried).unwrap()
            && broken > 30 * usize::try_from(tried).unwrap()
    );
}
