//! The exact texts that models read.
//!
//! Models act on these texts, so a change must be deliberate. `texts.md` has the notice, refusals, failures and reminders,
//! `errors.md` the texts of error codes, and `artifact_tools.md` the definitions of the artifact tools. To update the files
//! after a change, run `cargo test -p turnwright-core --all-features --test it model_texts -- --ignored`.

mod scenes;
mod summaries;

use std::fmt::Write as _;
use std::path::Path;

use turnwright_core::ErrorCode;

/// The texts of a file, by title.
type Texts = Vec<(&'static str, String)>;

#[track_caller]
fn assert_texts(file: &str, expected: &str, actual: &str) {
    for (line, (expected, actual)) in (1..).zip(expected.lines().zip(actual.lines())) {
        assert_eq!(actual, expected, "{file}, line {line}");
    }
    assert_eq!(actual.len(), expected.len(), "{file} has another length");
}

fn document(title: &str, texts: &Texts) -> String {
    let mut document = format!("# {title}\n");
    for (title, text) in texts {
        write!(document, "\n## {title}\n\n```text\n{text}\n```\n").unwrap();
    }
    document
}

fn error_codes() -> String {
    let mut table = String::from("# Texts of error codes\n\n| code | text |\n| --- | --- |\n");
    for code in ErrorCode::ALL {
        writeln!(table, "| `{}` | {} |", code.as_str(), code.model_text()).unwrap();
    }
    table
}

async fn texts() -> String {
    let mut texts = scenes::all().await;
    texts.extend(summaries::all().await);
    document("Texts that models read", &texts)
}

fn artifact_tools() -> String {
    document("Artifact tools", &scenes::artifact_tools())
}

#[tokio::test(start_paused = true)]
async fn refusals_failures_and_reminders_are_as_recorded() {
    assert_texts("texts.md", include_str!("texts.md"), &texts().await);
}

#[test]
fn texts_of_error_codes_are_as_recorded() {
    assert_texts("errors.md", include_str!("errors.md"), &error_codes());
}

#[cfg(all(feature = "artifact-formats", feature = "tokens"))]
#[test]
fn definitions_of_artifact_tools_are_as_recorded() {
    let expected = include_str!("artifact_tools.md");
    assert_texts("artifact_tools.md", expected, &artifact_tools());
}

#[tokio::test(start_paused = true)]
#[ignore = "writes the recorded texts"]
async fn record_texts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/model_texts");
    std::fs::write(folder.join("texts.md"), texts().await).unwrap();
    std::fs::write(folder.join("errors.md"), error_codes()).unwrap();
    std::fs::write(folder.join("artifact_tools.md"), artifact_tools()).unwrap();
}
