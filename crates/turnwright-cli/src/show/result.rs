//! What came of a call.

use turnwright::record::ToolResults;
use turnwright::{ArtifactKind, Repair, RepairKind, ToolCall};

use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, fit, json, one_line};

/// How many lines of a result are shown.
const LINES: usize = 6;

/// How much of a line is shown where nobody counts columns.
const LINE: usize = 160;

/// Shows what came of a call, in a few lines.
pub(crate) async fn show(
    screen: &mut Screen,
    call: &ToolCall,
    repairs: Vec<Repair>,
) -> anyhow::Result<()> {
    for repair in repairs
        .iter()
        .filter(|repair| repair.kind != RepairKind::Default)
    {
        let text = format!("  repaired {}", said(repair));
        screen.line(paint(style::CARE, text))?;
    }
    match call.results() {
        ToolResults::Artifacts(_) if !call.handles().is_empty() => {
            for artifact in call.handles() {
                let lines = match artifact.kind() == ArtifactKind::TEXT {
                    true => artifact.line_count().await.ok(),
                    false => None,
                };
                let lines = lines.map(|lines| format!(", {} lines", count(lines)));
                let (bytes, kind) = (size(artifact.byte_length()), artifact.kind());
                let lines = lines.unwrap_or_default();
                let kept = format!("  ← {bytes}{lines}: kept as an artifact of kind {kind}");
                screen.line(paint(style::GOOD, kept))?;
            }
        }
        ToolResults::Media(media) => {
            for media in media {
                let name = one_line(media.filename(), LINE);
                screen.line(paint(style::GOOD, format_args!("  ← media {name}")))?;
            }
        }
        ToolResults::Nothing => screen.line(paint(style::CARE, "  ← it did not run"))?,
        results => {
            let failed = matches!(results, ToolResults::Failure(_) | ToolResults::Refusal(_));
            let style = if failed { style::BAD } else { style::GOOD };
            let text = call.text().await.unwrap_or_else(|| "(not text)".into());
            lines(screen, &text, style)?;
        }
    }
    Ok(())
}

fn lines(screen: &mut Screen, text: &str, style: anstyle::Style) -> anyhow::Result<()> {
    let columns = screen.width().unwrap_or(LINE).saturating_sub(4).max(8);
    let mut lines = text.lines();
    for (at, line) in lines.by_ref().take(LINES).enumerate() {
        let arrow = if at == 0 {
            paint(style, "←")
        } else {
            " ".to_owned()
        };
        screen.line(format_args!(
            "  {arrow} {}",
            fit(&one_line(line, LINE * 4), columns)
        ))?;
    }
    let more = lines.count();
    if more > 0 {
        let text = format!("    … {} more lines", count(more as u64));
        screen.line(paint(style::DIM, text))?;
    }
    Ok(())
}

/// A repair in words.
fn said(repair: &Repair) -> String {
    let shown = |value: &Option<serde_json::Value>| match value {
        Some(value) => fit(&json(value), 40),
        None => "nothing".to_owned(),
    };
    let place = if repair.pointer.is_empty() {
        "the arguments"
    } else {
        &repair.pointer
    };
    format!(
        "{}: {} → {}",
        one_line(place, 80),
        shown(&repair.before),
        shown(&repair.after)
    )
}

/// A number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes, for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [999, 1_500, 31_400_000].map(size),
            ["999 bytes", "1.5 kB", "31.4 MB"]
        );
    }
}
