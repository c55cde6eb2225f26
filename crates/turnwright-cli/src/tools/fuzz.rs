//! `turnwright tools fuzz`

use serde_json::{Value, json};
use turnwright::Tool;
use turnwright_testkit::contract::{Fuzz, Report};

use super::named;
use crate::args::ToolsFuzz;
use crate::exit::Exit;
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, plain};

pub(super) fn run(
    tools: &[Tool],
    options: &ToolsFuzz,
    screen: &mut Screen,
) -> anyhow::Result<Exit> {
    let tools: Vec<&Tool> = match &options.name {
        Some(name) => vec![named(tools, name)?],
        None => tools.iter().collect(),
    };
    let cases = usize::try_from(options.cases).unwrap_or(usize::MAX);
    let fuzz = Fuzz::new().cases(cases).seed(options.seed);
    let mut all_hold = true;
    for tool in tools {
        screen.busy(&format!("fuzzing {}", tool.name()));
        let (report, text) = match fuzz.run(tool) {
            Ok(report) => (report.clone(), report.to_string()),
            Err(failure) => (failure.report().clone(), failure.to_string()),
        };
        all_hold &= report.is_ok();
        screen.value(&to_value(&report))?;
        let verdict = if report.is_ok() {
            paint(style::GOOD, "passed")
        } else {
            paint(style::BAD, "failed")
        };
        let name = paint(style::NAME, tool.name());
        screen.line(format_args!("{name}: {verdict}"))?;
        screen.line(plain(text.trim_end()))?;
        screen.line("")?;
    }
    Ok(if all_hold { Exit::Done } else { Exit::No })
}

fn to_value(report: &Report) -> Value {
    let keywords = report.per_keyword.iter().map(|(keyword, count)| {
        let counts =
            json!({ "places": count.places, "accepted": count.accepted, "broken": count.broken });
        (keyword.clone(), counts)
    });
    let findings = report.findings.iter().map(|finding| {
        json!({
            "kind": format!("{:?}", finding.kind),
            "pointer": finding.pointer,
            "keyword": finding.keyword,
            "value": finding.value,
            "answer": finding.answer,
            "times": finding.times,
        })
    });
    let skipped = report.skipped.iter().map(|skipped| {
        json!({
            "pointer": skipped.pointer,
            "accepted": skipped.accepted,
            "broken": skipped.broken,
            "reason": skipped.reason,
        })
    });
    json!({
        "ok": report.is_ok(),
        "name": report.tool,
        "seed": report.seed,
        "accepted": report.accepted,
        "refused": report.refused,
        "broken": report.broken,
        "missed": report.missed,
        "keywords": keywords.collect::<serde_json::Map<String, Value>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
    })
}
