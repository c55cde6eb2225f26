//! Shows what policies decided about a call.

use serde_json::Value;
use turnwright::ToolCall;
use turnwright::record::TaintSource;

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
    show_sources(screen, denial.sources.iter().map(Source::from))
}

/// A record that made the prompt untrusted or private.
pub(super) struct Source {
    id: String,
    tool: Option<String>,
    untrusted: bool,
    private: bool,
}

impl From<&TaintSource> for Source {
    fn from(source: &TaintSource) -> Self {
        Source {
            id: source.id.to_string(),
            tool: source.tool.as_deref().map(str::to_owned),
            untrusted: source.trust_tier.is_some(),
            private: source.private,
        }
    }
}

/// Reads the sources in the question of an approval.
pub(super) fn sources_of(question: &Value) -> impl Iterator<Item = Source> + '_ {
    let sources = question.get("sources").and_then(Value::as_array);
    sources.into_iter().flatten().filter_map(|source| {
        let text = |name: &str| Some(source.get(name)?.as_str()?.to_owned());
        Some(Source {
            id: text("id")?,
            tool: text("tool"),
            untrusted: source.get("trustTier").is_some(),
            private: source.get("private").and_then(Value::as_bool) == Some(true),
        })
    })
}

pub(super) fn show_sources(
    screen: &mut Screen,
    sources: impl Iterator<Item = Source>,
) -> anyhow::Result<()> {
    for source in sources {
        let what = match (source.untrusted, source.private) {
            (true, true) => "third-party text and private data",
            (true, false) => "third-party text",
            (false, _) => "private data",
        };
        let of = source
            .tool
            .map(|tool| format!(" ({})", one_line(&tool, 64)));
        let line = format!(
            "{what} in {}{}",
            one_line(&source.id, 64),
            of.unwrap_or_default()
        );
        screen.paragraph(style::DIM, "    ", &line)?;
    }
    Ok(())
}
