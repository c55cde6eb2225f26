//! The constant start of a prompt.

use std::sync::Arc;

use crate::record::{Memory, StandingInstruction};
use crate::trust::{NAMES_NOTICE, NOTICE, neutralise};

/// The constant start of a prompt: the system prompt, the standing instructions, and the memories as of the start of the turn.
///
/// ```
/// use turnwright_core::transcript::SystemPrompt;
///
/// let system = SystemPrompt::new("Be brief.").explain_envelopes(false);
/// assert_eq!(system.text(), "Be brief.");
/// ```
#[derive(Clone, Debug, Default)]
pub struct SystemPrompt {
    pub(super) system: String,
    pub(super) explains_envelopes: bool,
    pub(super) names_users: bool,
    pub(super) instructions: Vec<Arc<StandingInstruction>>,
    pub(super) memories: Vec<Arc<Memory>>,
}

impl SystemPrompt {
    /// Creates it from a system prompt, which may be empty. Envelopes are explained by default: see
    /// [`explain_envelopes`](SystemPrompt::explain_envelopes).
    pub fn new(system: impl Into<String>) -> Self {
        SystemPrompt {
            system: system.into(),
            explains_envelopes: true,
            ..SystemPrompt::default()
        }
    }

    /// Sets whether the text explains the envelopes around content to the model.
    ///
    /// Default: `true`.
    #[must_use]
    pub fn explain_envelopes(mut self, explains: bool) -> Self {
        self.explains_envelopes = explains;
        self
    }

    /// Sets whether the text also explains the envelopes around messages of named users
    /// ([`Renderer::naming_users`](crate::render::Renderer::naming_users)). Has no effect if envelopes are not explained.
    ///
    /// Default: `false`.
    #[must_use]
    pub fn name_users(mut self, names: bool) -> Self {
        self.names_users = names;
        self
    }

    /// Returns the text, or an empty string if there is nothing to say. The same records give the same text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !self.system.trim().is_empty() {
            parts.push(neutralise(&self.system).into_owned());
        }
        if self.explains_envelopes {
            parts.push(NOTICE.to_owned());
        }
        if self.explains_envelopes && self.names_users {
            parts.push(NAMES_NOTICE.to_owned());
        }
        parts.extend(listed(
            "Standing instructions:",
            self.instructions
                .iter()
                .map(|instruction| instruction.text()),
        ));
        parts.extend(listed(
            "Memories from earlier conversations:",
            self.memories.iter().map(|memory| memory.text()),
        ));
        parts.join("\n\n")
    }
}

/// Formats a list. Further lines of an item are indented, so that an item cannot be mistaken for several.
fn listed<'t>(title: &str, texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut list = String::new();
    for text in texts {
        list.push_str("\n- ");
        list.push_str(&indented(text));
    }
    (!list.is_empty()).then(|| format!("{title}{list}"))
}

/// Indents all lines but the first, so that none of them can be mistaken for a separate item.
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
