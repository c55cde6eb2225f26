//! Shows what policies decided about a call.

use serde_json::{Value, json};
use turnwright::ToolCall;

use crate::terminal::style;
use crate::terminal::{LINE, Screen, one_line};

/// Shows why a call was denied, and whether its result is kept out of the prompt.
pub(super) fn show(screen: &mut Screen, call: &ToolCall) -> anyhow::Result<()> {
    if call.is_quarantined() {
        let text = "in quarantine: the prompt does not show the result";
        screen.paragraph(style::DIM, "  ", text)?;
    }
    let Some(denial) = call.denial() else {
        return Ok(());
    };
    let reason = format!("denied: {}", one_line(&denial.reason, LINE * 2));
    screen.paragraph(style::DIM, "  ", &reason)?;
    show_sources(screen, &json!(denial.sources))
}

/// Shows the records that made the prompt untrusted or private: the `sources` of a denial, or those in the question of an
/// approval, which has no ids.
pub(super) fn show_sources(screen: &mut Screen, sources: &Value) -> anyhow::Result<()> {
    for source in sources.as_array().into_iter().flatten() {
        let text = |name: &str| source.get(name).and_then(Value::as_str);
        let private = source.get("private").is_some_and(|private| private == true);
        let what = match (text("trustTier").is_some(), private) {
            (true, true) => "third-party text and private data",
            (true, false) => "third-party text",
            (false, _) => "private data",
        };
        let record = text("id").or(text("kind")).unwrap_or("a record");
        let of = text("tool").map(|tool| format!(" ({})", one_line(tool, 64)));
        let line = format!(
            "{what} in {}{}",
            one_line(record, 64),
            of.unwrap_or_default()
        );
        screen.paragraph(style::DIM, "    ", &line)?;
    }
    Ok(())
}
