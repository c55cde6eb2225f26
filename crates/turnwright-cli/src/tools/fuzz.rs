//! `turnwright tools fuzz`

use serde_json::json;
use turnwright::Tool;
use turnwright_testkit::contract::Fuzz;

use super::named;
use crate::args::ToolsFuzz;
use crate::exit::Exit;
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, plain, with_fields};

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
        let ok = json!({ "ok": report.is_ok() });
        screen.value(&with_fields(ok, json!(report)))?;
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
