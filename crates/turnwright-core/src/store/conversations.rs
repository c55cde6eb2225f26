//! Which conversations are listed.

use super::ConversationId;

/// Selects conversations, see [`Store::conversations`](super::Store::conversations). Default: all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationFilter {
    /// Only conversations whose id begins with this text.
    pub prefix: Option<String>,
    /// Only conversations after this one.
    pub after: Option<ConversationId>,
    /// The maximum number of conversations. A page with fewer is the last one.
    pub limit: Option<usize>,
}

impl ConversationFilter {
    /// All conversations.
    #[must_use]
    pub fn all() -> Self {
        ConversationFilter::default()
    }

    /// Only conversations whose id begins with this text.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Only conversations after this one.
    #[must_use]
    pub fn after(mut self, conversation: ConversationId) -> Self {
        self.after = Some(conversation);
        self
    }

    /// Sets the maximum number of conversations.
    #[must_use]
    pub fn limit(mut self, most: usize) -> Self {
        self.limit = Some(most);
        self
    }

    /// Whether a conversation is selected, apart from the limit.
    #[must_use]
    pub fn matches(&self, conversation: &ConversationId) -> bool {
        let prefix = self.prefix.as_deref().unwrap_or_default();
        conversation.as_str().starts_with(prefix)
            && self.after.as_ref().is_none_or(|after| conversation > after)
    }
}
