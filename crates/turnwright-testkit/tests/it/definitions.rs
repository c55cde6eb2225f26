//! The definitions of public MCP servers and of schema generators: what is published is what is enforced.
//!
//! They are read from `$TURNWRIGHT_VECTORS`, otherwise from `../shared/vectors` next to the project. If they are
//! missing, the test prints a notice and skips. For a long run:
//!
//! ```text
//! TURNWRIGHT_CASES=300 cargo test --release -p turnwright-testkit --test it definitions -- --nocapture
//! ```

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use turnwright_core::Tool;
use turnwright_core::schema::SchemaOptions;
use turnwright_testkit::contract::Fuzz;

/// Values per definition. More would take too long in an unoptimised build.
const CASES: usize = 10;
const THREADS: usize = 2;

/// Definitions for which the fuzzer may generate too few values: alternatives that nearly always match together, and
/// combined patterns. Nothing else about them is excused.
const TOO_NARROW: &[&str] = &["wild.rootoneof", "zod4-2020.starts", "zod4-d7.starts"];

#[test]
fn published_document_of_every_definition_is_enforced() {
    let Some(definitions) = definitions() else {
        return;
    };
    let cases = std::env::var("TURNWRIGHT_CASES").ok();
    let cases = cases.map_or(CASES, |cases| cases.parse().unwrap());
    let next = AtomicUsize::new(0);
    let totals = Mutex::new(Totals::default());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((name, document)) =
                    definitions.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let part = run(name, document, cases);
                    totals.lock().unwrap().add(part);
                }
            });
        }
    });
    let Totals {
        refused,
        accepted,
        by_trial,
        broken,
        mut narrow,
        failures,
    } = totals.into_inner().unwrap();
    narrow.sort();
    crate::say(format_args!(
        "{} definitions, {refused} refused: {accepted} values accepted ({by_trial} by trial), {broken} broken; too few values: {narrow:?}",
        definitions.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(refused, 3);
    let unexpected = |name: &&String| !TOO_NARROW.contains(&name.as_str());
    assert_eq!(narrow.iter().find(unexpected), None);
    assert!(accepted > definitions.len() * cases * 8 / 10);
}

#[derive(Default)]
struct Totals {
    refused: usize,
    accepted: usize,
    by_trial: usize,
    broken: usize,
    narrow: Vec<String>,
    failures: Vec<String>,
}

impl Totals {
    fn add(&mut self, part: Totals) {
        self.refused += part.refused;
        self.accepted += part.accepted;
        self.by_trial += part.by_trial;
        self.broken += part.broken;
        self.narrow.extend(part.narrow);
        self.failures.extend(part.failures);
    }
}

fn run(name: &str, document: &Value, cases: usize) -> Totals {
    let mut totals = Totals::default();
    let options = SchemaOptions::foreign().fill_defaults(false);
    let Ok(schema) = options.document(document.clone()) else {
        totals.refused = 1;
        return totals;
    };
    let tool = Tool::dynamic("probe", schema)
        .description("Accepts what its document allows.")
        .handler(crate::never)
        .build()
        .unwrap();
    let result = Fuzz::new().cases(cases).run(&tool);
    let report = match &result {
        Ok(report) => report,
        Err(failure) => failure.report(),
    };
    totals.accepted = report.accepted;
    totals.by_trial = report.by_trial;
    totals.broken = report.broken;
    match &result {
        Err(failure) if failure.findings().is_empty() => totals.narrow.push(name.to_owned()),
        Err(failure) => totals.failures.push(format!("{name}: {failure}")),
        Ok(_) => {}
    }
    totals
}

/// Returns the input schemas, each with a name; `None` if the vectors are missing.
fn definitions() -> Option<Vec<(String, Value)>> {
    let folder = std::env::var_os("TURNWRIGHT_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    );
    let folder = folder.join("mcp");
    let mut all = Vec::new();
    for file in ["tools.jsonl", "generated.jsonl"] {
        let Ok(text) = std::fs::read_to_string(folder.join(file)) else {
            let place = folder.display();
            crate::say(format_args!(
                "SKIPPED: the definitions are not at {place}; set TURNWRIGHT_VECTORS"
            ));
            return None;
        };
        // Python writes `Infinity`, which is not JSON: no client could read those two lines.
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        all.extend(lines.map(|line: Value| match line["from"].as_str() {
            Some(from) => (from.to_owned(), line["inputSchema"].clone()),
            None => {
                let (server, tool) = (line["server"].as_str().unwrap(), &line["tool"]);
                let name = format!("{server}/{}", tool["name"].as_str().unwrap());
                (name, tool["inputSchema"].clone())
            }
        }));
    }
    assert_eq!(all.len(), 1024);
    Some(all)
}
