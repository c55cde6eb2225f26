//! Which conversations are listed, and what is found.

use std::sync::Arc;

use super::{ConversationId, DamagedRecord, Loaded, Query};
use crate::record::{ConversationInfo, Record, RecordKind};

/// Selects conversations, see [`Store::conversations`](super::Store::conversations). All conditions must hold. Default: all
/// conversations.
///
/// The conversations of one user, in pages:
///
/// ```
/// use turnwright_core::Storage;
/// use turnwright_core::store::ConversationFilter;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # let storage = Storage::memory();
/// storage.update_conversation_info("chat-1", |info| info.owner("ada").title("Trip to Rome")).await?;
/// storage.update_conversation_info("chat-2", |info| info.owner("bob")).await?;
///
/// let mut filter = ConversationFilter::all().owner("ada").limit(50);
/// let mut titles = Vec::new();
/// loop {
///     let page = storage.conversations(&filter).await?;
///     titles.extend(page.iter().filter_map(|found| Some(found.info.as_ref()?.title.clone()?)));
///     let Some(last) = page.last() else { break };
///     filter = filter.after(last.id.clone());
/// }
/// assert_eq!(titles, ["Trip to Rome"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationFilter {
    /// Only conversations whose id begins with this text.
    pub prefix: Option<String>,
    /// Only conversations of this owner, see [`ConversationInfo::owner`](field@ConversationInfo::owner).
    pub owner: Option<String>,
    /// Only conversations with all of these labels, each a key and a value, see [`ConversationInfo::labels`](field@ConversationInfo::labels).
    pub labels: Vec<(String, String)>,
    /// Only conversations after this one.
    pub after: Option<ConversationId>,
    /// The maximum number of conversations. A page with fewer is the last one.
    pub limit: Option<usize>,
}

impl ConversationFilter {
    /// Selects all conversations.
    #[must_use]
    pub fn all() -> Self {
        ConversationFilter::default()
    }

    /// Selects only conversations whose id begins with this text.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Selects only conversations of this owner.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Selects only conversations with this label. Can be repeated for more labels.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }

    /// Selects only conversations after this one.
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

    /// Returns whether a conversation is selected, apart from the limit. One whose info is damaged has no owner and no labels.
    #[must_use]
    pub fn matches(&self, found: &FoundConversation) -> bool {
        let info = found.info.as_deref();
        let has = |(key, value): &(String, String)| {
            info.is_some_and(|info| info.labels.get(key) == Some(value))
        };
        self.includes(&found.id)
            && self
                .owner
                .as_deref()
                .is_none_or(|owner| info.and_then(|info| info.owner.as_deref()) == Some(owner))
            && self.labels.iter().all(has)
    }

    /// Returns the first conversations that match, in the order of [`Store::conversations`](super::Store::conversations).
    #[must_use]
    pub fn select(
        &self,
        conversations: impl IntoIterator<Item = FoundConversation>,
    ) -> Vec<FoundConversation> {
        let matching = conversations
            .into_iter()
            .filter(|found| self.matches(found));
        let mut found: Vec<FoundConversation> = matching.collect();
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found.truncate(self.limit.unwrap_or(usize::MAX));
        found
    }

    /// Whether the id is selected.
    pub(super) fn includes(&self, conversation: &ConversationId) -> bool {
        let prefix = self.prefix.as_deref().unwrap_or_default();
        conversation.as_str().starts_with(prefix)
            && self.after.as_ref().is_none_or(|after| conversation > after)
    }
}

/// A conversation that [`Store::conversations`](super::Store::conversations) found.
///
/// ```
/// use turnwright_core::record::ConversationInfo;
/// use turnwright_core::store::{ConversationId, FoundConversation, Loaded, Position, Revision, Stored};
///
/// // A store loads `FoundConversation::query()` for each conversation that it lists.
/// let info = ConversationInfo::default().title("Trip to Rome").build()?;
/// let loaded = Loaded::new(vec![Stored::new(Position(1), info.into())], Revision(1), 0);
/// let found = FoundConversation::new(ConversationId::new("chat-1"), loaded);
/// assert_eq!(found.info.unwrap().title.as_deref(), Some("Trip to Rome"));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundConversation {
    /// The conversation.
    pub id: ConversationId,
    /// Its metadata. `None` if it has none, or if that is damaged.
    pub info: Option<Arc<ConversationInfo>>,
    /// The record of its metadata, if that is damaged.
    pub damaged: Option<DamagedRecord>,
}

impl FoundConversation {
    /// Creates it from the records that [`FoundConversation::query`] selects. Ignores other records.
    #[must_use]
    pub fn new(id: ConversationId, loaded: Loaded) -> Self {
        let is_info = |damaged: &DamagedRecord| {
            damaged.kind == Some(RecordKind::ConversationInfo) && damaged.id == ConversationInfo::ID
        };
        let mut infos = loaded.records.into_iter().map(|stored| stored.record);
        FoundConversation {
            id,
            info: infos.find_map(|record| match record {
                Record::ConversationInfo(info) if info.id() == ConversationInfo::ID => Some(info),
                _ => None,
            }),
            damaged: loaded.damaged.into_iter().find(is_info),
        }
    }

    /// Returns the query for the records that [`FoundConversation::new`] needs.
    #[must_use]
    pub fn query() -> Query {
        Query::all()
            .kind(RecordKind::ConversationInfo)
            .ids([ConversationInfo::ID])
    }
}
