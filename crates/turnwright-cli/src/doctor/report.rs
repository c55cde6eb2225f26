//! The result of a check, and how all results are printed.

use serde::Serialize;

use crate::exit::Exit;
use crate::terminal::style::{self, paint};
use crate::terminal::{Flow, Screen, plain};
use crate::units::plural;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Ok,
    /// Works, but not everything can be used.
    Warn,
    /// Has to be fixed.
    Fail,
}

/// The result of one check.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Check {
    name: &'static str,
    pub(crate) status: Status,
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Check {
    pub(crate) fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Check {
            name,
            status: Status::Ok,
            detail: detail.into(),
            fix: None,
        }
    }

    pub(crate) fn warn(
        name: &'static str,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Check {
            status: Status::Warn,
            fix: Some(fix.into()),
            ..Check::ok(name, detail)
        }
    }

    pub(crate) fn fail(
        name: &'static str,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Check {
            status: Status::Fail,
            ..Check::warn(name, detail, fix)
        }
    }
}

/// The columns before the details.
const INDENT: &str = "                  ";

/// Prints a line for each check, with what to do below it, and a summary. Returns the exit code.
pub(crate) fn print(checks: &[Check], screen: &mut Screen) -> anyhow::Result<Exit> {
    let width = screen.width();
    for check in checks {
        screen.value(check)?;
        let (style, word) = match check.status {
            Status::Ok => (style::GOOD, "ok"),
            Status::Warn => (style::WARN, "warn"),
            Status::Fail => (style::BAD, "fail"),
        };
        let detail = Flow::new(width, INDENT).wrap(&plain(&check.detail));
        let status = paint(style, format_args!("{word:<4}"));
        let detail = detail.trim_start();
        screen.line(format_args!("{status}  {:<10}  {detail}", check.name))?;
        if let Some(fix) = &check.fix {
            let fix = format!("→ {}", plain(fix));
            screen.painted(style::DIM, Flow::new(width, INDENT).wrap(&fix))?;
        }
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count() as u64;
    let (warnings, failures) = (count(Status::Warn), count(Status::Fail));
    screen.line("")?;
    let (style, text) = match (failures, warnings) {
        (0, 0) => (style::GOOD, "Everything works.".to_owned()),
        (0, _) => (style::WARN, plural(warnings, "warning")),
        (_, 0) => (style::BAD, plural(failures, "problem")),
        _ => {
            let (failures, warnings) = (plural(failures, "problem"), plural(warnings, "warning"));
            (style::BAD, format!("{failures}, {warnings}"))
        }
    };
    screen.painted(style, text)?;
    Ok(if failures > 0 { Exit::No } else { Exit::Done })
}
