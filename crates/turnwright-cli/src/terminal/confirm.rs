//! Asks for a yes or no.

use super::editor::{Editor, Typed};

/// Asks the user, who must have seen the question. Everything but `y` and `yes` is a no.
pub(crate) async fn confirm(prompt: &str) -> anyhow::Result<bool> {
    Ok(match Editor::open(None)?.answer(prompt, "").await {
        Typed::Line(line) => matches!(line.trim().to_lowercase().as_str(), "y" | "yes"),
        Typed::Interrupted | Typed::Ended => false,
    })
}
