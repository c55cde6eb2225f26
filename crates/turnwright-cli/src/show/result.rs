//! Shows the result of a call.

use turnwright::ToolCall;
use turnwright::artifact::ArtifactKind;
use turnwright::record::ToolResults;

use crate::terminal::style::{self, paint};
use crate::terminal::{LINE, Screen, fit, one_line, plain, wrap};
use crate::units::{plural, size};

/// The number of lines of a result that are shown.
const LINES: usize = 6;

/// Shows the result of a call in a few lines.
pub(crate) async fn show(
    screen: &mut Screen,
    call: &ToolCall,
    whose: Option<&str>,
) -> anyhow::Result<()> {
    let whose = whose.map(|name| format!("{name}: ")).unwrap_or_default();
    let columns = screen.columns();
    match call.results() {
        ToolResults::Artifacts(_) if !call.handles().is_empty() => {
            for artifact in call.handles() {
                let lines = if artifact.kind() == ArtifactKind::TEXT {
                    // Reads all of it the first time.
                    let bytes = size(artifact.byte_length());
                    screen.busy(&format!("indexing a result of {bytes}"));
                    artifact.line_count().await.ok()
                } else {
                    None
                };
                let lines = lines.map(|lines| format!(", {}", plural(lines, "line")));
                let (bytes, kind) = (size(artifact.byte_length()), artifact.kind());
                let lines = lines.unwrap_or_default();
                let line = format!("← {whose}{bytes}{lines}: stored as an artifact of kind {kind}");
                screen.paragraph(style::GOOD, "  ", &line)?;
            }
        }
        ToolResults::Media(media) => {
            for media in media {
                let name = one_line(media.filename(), LINE);
                let text = fit(&format!("  ← {whose}media {name}"), columns);
                screen.painted(style::GOOD, text)?;
            }
        }
        ToolResults::Nothing => {
            let why = if call.is_cut_off() {
                "not run: the response was cut off"
            } else {
                "not run"
            };
            let text = fit(&format!("  ← {whose}{why}"), columns);
            screen.painted(style::WARN, text)?;
        }
        results => {
            let failed = matches!(results, ToolResults::Failure(_) | ToolResults::Refusal(_));
            let text = call.text().await.unwrap_or_else(|| "(not text)".into());
            let text = format!("{whose}{text}");
            if failed {
                reason(screen, &text)?;
            } else {
                excerpt(screen, &text)?;
            }
        }
    }
    if call.is_truncated() {
        let text = format!("  ← {whose}result truncated: the tool returned more");
        screen.painted(style::WARN, text)?;
    }
    Ok(())
}

/// The complete text of a failure, as the model reads it.
fn reason(screen: &mut Screen, text: &str) -> anyhow::Result<()> {
    let columns = screen.width().map(|width| width.saturating_sub(4));
    let text = wrap(&plain(text), columns, "");
    let mut arrow = paint(style::BAD, "←");
    for line in text.lines() {
        screen.line(format_args!("  {arrow} {line}"))?;
        arrow = " ".to_owned();
    }
    Ok(())
}

/// The first lines of a result, cut to the width of the window.
fn excerpt(screen: &mut Screen, text: &str) -> anyhow::Result<()> {
    let columns = screen.columns().saturating_sub(4).max(2);
    let mut lines = text.lines();
    let mut arrow = paint(style::GOOD, "←");
    for line in lines.by_ref().take(LINES) {
        let line = fit(&one_line(line, LINE * 4), columns);
        screen.line(format_args!("  {arrow} {line}"))?;
        arrow = " ".to_owned();
    }
    let more = lines.count();
    if more > 0 {
        let text = format!("    … {}", plural(more as u64, "more line"));
        screen.painted(style::DIM, text)?;
    }
    Ok(())
}
