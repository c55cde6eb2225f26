//! What always holds, as the text before everything else.

use std::sync::Arc;

use crate::record::{Memory, StandingInstruction};
use crate::trust::{NOTICE, neutralise};

/// What always holds in a turn: the system prompt, the standing instructions, and the memories as they were when the turn
/// began.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    pub(super) system: String,
    pub(super) explains_fences: bool,
    pub(super) instructions: Vec<Arc<StandingInstruction>>,
    pub(super) memories: Vec<Arc<Memory>>,
}

impl Standing {
    /// Under a system prompt, which may be empty. What the fences mean is said unless told otherwise.
    pub fn new(system: impl Into<String>) -> Self {
        Standing {
            system: system.into(),
            explains_fences: true,
            ..Standing::default()
        }
    }

    /// Whether the model is told what the fences around foreign text mean.
    #[must_use]
    pub fn explain_fences(mut self, explains: bool) -> Self {
        self.explains_fences = explains;
        self
    }

    /// All of it as one text; empty if there is nothing to say. The same records give the same text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !self.system.trim().is_empty() {
            parts.push(neutralise(&self.system).into_owned());
        }
        if self.explains_fences {
            parts.push(NOTICE.to_owned());
        }
        parts.extend(listed(
            "Instructions that always hold:",
            self.instructions
                .iter()
                .map(|instruction| instruction.text()),
        ));
        parts.extend(listed(
            "What you remember from before:",
            self.memories.iter().map(|memory| memory.text()),
        ));
        parts.join("\n\n")
    }
}

/// Each with a dash before it, and further lines set in: none can be taken for another.
fn listed<'t>(title: &str, texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut list = String::new();
    for text in texts {
        list.push_str("\n- ");
        list.push_str(&indented(text));
    }
    (!list.is_empty()).then(|| format!("{title}{list}"))
}

/// A text whose further lines are set in, so that none of them can be taken for something that stands beside it.
pub fn indented(text: &str) -> String {
    let begins_a_line = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let text = neutralise(text.trim());
    let lines = text.split(begins_a_line).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n  ")
}
