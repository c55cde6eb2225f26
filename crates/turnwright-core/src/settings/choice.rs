//! Settings with a fixed set of values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which tools the model may call.
///
/// ```
/// use turnwright_core::settings::ToolChoice;
/// use turnwright_core::{ModelSettings, TurnInput};
///
/// let settings = ModelSettings::new().tool_choice(ToolChoice::Tool("forecast".to_owned()));
/// let input = TurnInput::new("How is the weather in Paris?").settings(settings);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model must not call tools.
    None,
    /// The model must call a tool before it answers. After the first tool call of the turn, [`ToolChoice::Auto`] applies;
    /// otherwise the model could never answer.
    Required,
    /// The model must call this tool before it answers. After the first tool call of the turn, [`ToolChoice::Auto`] applies.
    Tool(String),
}

impl ToolChoice {
    /// Returns whether the model must call a tool.
    pub(crate) fn is_forced(&self) -> bool {
        matches!(self, ToolChoice::Required | ToolChoice::Tool(_))
    }
}

/// How much a model reasons before it answers.
///
/// Models map it to what they support: an effort, a level or a token budget for thinking.
///
/// ```
/// use turnwright_core::ModelSettings;
/// use turnwright_core::settings::ReasoningEffort;
///
/// let settings = ModelSettings::new().reasoning_effort(ReasoningEffort::Low);
/// assert_eq!(ReasoningEffort::from("xhigh".to_owned()), ReasoningEffort::Other("xhigh".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// No reasoning, if the model can turn it off.
    None,
    /// As little as possible.
    Minimal,
    /// Low effort.
    Low,
    /// Medium effort.
    Medium,
    /// High effort.
    High,
    /// A value that only some servers support.
    Other(String),
}

impl ReasoningEffort {
    /// Returns the usual name: `none`, `minimal`, `low`, `medium`, `high`, or the other value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            ReasoningEffort::None => "none",
            ReasoningEffort::Minimal => "minimal",
            ReasoningEffort::Low => "low",
            ReasoningEffort::Medium => "medium",
            ReasoningEffort::High => "high",
            ReasoningEffort::Other(name) => name,
        }
    }
}

impl From<String> for ReasoningEffort {
    fn from(name: String) -> Self {
        match name.as_str() {
            "none" => ReasoningEffort::None,
            "minimal" => ReasoningEffort::Minimal,
            "low" => ReasoningEffort::Low,
            "medium" => ReasoningEffort::Medium,
            "high" => ReasoningEffort::High,
            _ => ReasoningEffort::Other(name),
        }
    }
}

impl From<ReasoningEffort> for String {
    fn from(effort: ReasoningEffort) -> Self {
        match effort {
            ReasoningEffort::Other(name) => name,
            known => known.as_str().to_owned(),
        }
    }
}

impl fmt::Display for ReasoningEffort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
