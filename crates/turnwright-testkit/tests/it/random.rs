//! Correct tools with random documents: there must be no false positives.

use turnwright_core::Tool;
use turnwright_core::schema::Schema;
use turnwright_testkit::contract::Fuzz;

use crate::never;
use crate::random_document::{Dice, document};

/// Set `CONTRACT_DOCUMENTS=10000` for more.
fn documents() -> u64 {
    std::env::var("CONTRACT_DOCUMENTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(60)
}

#[test]
fn random_documents_give_no_false_positives() {
    let (mut tried, mut accepted, mut broken) = (0, 0, 0);
    for seed in 0..documents() {
        let document = document(&mut Dice::new(seed));
        // Some contradict themselves, for example with an invalid default. They cannot be built and are skipped.
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
        // A document may be unsatisfiable, but there must be no violation.
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
