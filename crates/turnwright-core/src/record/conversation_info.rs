//! Metadata of a conversation.
//!
//! It is a record, so batches, revisions, deletion, export and damage work as for every record. No prompt shows it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::builder::Body;
use super::stored::{part, stored};

use crate::error::{Error, ErrorCode};
use crate::schema::is_invisible;
use crate::validate::Violations;

stored! {
    StoredInfo as "ConversationInfo";
    /// Title, owner, labels and program data of a conversation. At most one for each conversation. Immutable.
    ///
    /// A model never sees it: it is not part of the history, the transcript or the timeline of a turn. It is deleted with the
    /// conversation.
    ///
    /// [`ConversationInfo::new`] returns a builder, which validates all fields:
    ///
    /// ```
    /// use turnwright_core::record::ConversationInfo;
    ///
    /// let info = ConversationInfo::new()
    ///     .title("Trip to Rome")
    ///     .owner("ada")
    ///     .label("project", "travel")
    ///     .data("model", "small-1")
    ///     .build()?;
    /// assert_eq!(info.title(), Some("Trip to Rome"));
    /// assert_eq!(info.labels().get("project").map(String::as_str), Some("travel"));
    ///
    /// let error = ConversationInfo::new().title("two\nlines").label("", "x").build().unwrap_err();
    /// assert_eq!(error.message(), "invalid conversation info: title: must not contain control or invisible characters; \
    ///     the key of a label: must not be empty");
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// [`Storage::update_conversation_info`](crate::Storage::update_conversation_info) stores it, and
    /// [`Storage::conversations`](crate::Storage::conversations) lists conversations by owner and labels.
    #[derive(Clone, PartialEq)]
    pub struct ConversationInfo {
        pub(super) id: Arc<str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) owner: Option<String>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub(super) labels: BTreeMap<String, String>,
        #[serde(with = "part", default, skip_serializing_if = "Map::is_empty")]
        pub(super) data: Map<String, Value>,
    }
}

impl ConversationInfo {
    /// The id of the one that counts for its conversation.
    pub const ID: &str = "info";
    /// The most characters of a title.
    pub const MAX_TITLE_CHARS: usize = 256;
    /// The most characters of an owner.
    pub const MAX_OWNER_CHARS: usize = 256;
    /// The most labels.
    pub const MAX_LABELS: usize = 64;
    /// The most characters of the key of a label.
    pub const MAX_LABEL_KEY_CHARS: usize = 64;
    /// The most characters of the value of a label.
    pub const MAX_LABEL_VALUE_CHARS: usize = 256;
    /// The most bytes of the program data as JSON text.
    pub const MAX_DATA_BYTES: usize = 256 * 1024;

    /// Starts an info without content.
    #[expect(
        clippy::new_ret_no_self,
        reason = "like the constructors of other records"
    )]
    pub fn new() -> ConversationInfoBuilder {
        ConversationInfoBuilder(ConversationInfo {
            id: Self::ID.into(),
            title: None,
            owner: None,
            labels: BTreeMap::new(),
            data: Map::new(),
        })
    }

    /// Starts an info with the content of this one.
    pub fn to_builder(&self) -> ConversationInfoBuilder {
        ConversationInfoBuilder(self.clone())
    }

    /// Its id among the records of its kind: [`ConversationInfo::ID`].
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the title, for people.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the owner, such as the id of a user. Only used to list conversations: it protects nothing by itself.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// Returns the labels, in the order of their keys.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// Returns the data of programs, by name.
    #[must_use]
    pub fn data(&self) -> &Map<String, Value> {
        &self.data
    }

    /// Returns whether it has no title, no owner, no labels and no data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.title.is_none()
            && self.owner.is_none()
            && self.labels.is_empty()
            && self.data.is_empty()
    }

    fn check_data(&self, wrong: &mut Violations) {
        let mut bytes = 0_usize;
        for (name, value) in &self.data {
            bytes += name.len() + value.to_string().len();
        }
        if bytes > Self::MAX_DATA_BYTES {
            let most = Self::MAX_DATA_BYTES;
            wrong.add(format!(
                "data: has {bytes} bytes: at most {most} are allowed"
            ));
        }
    }
}

impl Body for ConversationInfo {
    const NAME: &'static str = "conversation info";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_CONVERSATION_INFO_VALUE;

    fn check(&mut self, wrong: &mut Violations) {
        wrong.check("id", !self.id.is_empty(), "must not be empty");
        if let Some(title) = &self.title {
            wrong.check_text("title", title, Self::MAX_TITLE_CHARS, shows_in_text);
            wrong.check("title", title.chars().any(is_visible), "must not be empty");
        }
        if let Some(owner) = &self.owner {
            wrong.check("owner", !owner.is_empty(), "must not be empty");
            wrong.check_text("owner", owner, Self::MAX_OWNER_CHARS, is_plain);
        }
        if self.labels.len() > Self::MAX_LABELS {
            let (found, most) = (self.labels.len(), Self::MAX_LABELS);
            wrong.add(format!(
                "labels: there are {found}: at most {most} are allowed"
            ));
        }
        for (key, value) in &self.labels {
            let field = "the key of a label";
            wrong.check(field, !key.is_empty(), "must not be empty");
            wrong.check_text(field, key, Self::MAX_LABEL_KEY_CHARS, is_plain);
            let field = "the value of a label";
            wrong.check_text(field, value, Self::MAX_LABEL_VALUE_CHARS, shows_in_text);
        }
        self.check_data(wrong);
    }
}

/// Without control characters and without characters that are not seen.
fn is_plain(c: char) -> bool {
    !c.is_control() && !is_invisible(c)
}

/// As [`is_plain`], but with what joins letters and emoji.
fn shows_in_text(c: char) -> bool {
    is_plain(c) || matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

fn is_visible(c: char) -> bool {
    is_plain(c) && !c.is_whitespace()
}

// Titles and owners are personal.
debug_fields!(ConversationInfo { id });

/// Builds a [`ConversationInfo`].
///
/// ```
/// use turnwright_core::Storage;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let storage = Storage::memory();
/// storage.update_conversation_info("chat-1", |info| info.title("Trip to Rome").label("stage", "draft")).await?;
/// let info = storage.update_conversation_info("chat-1", |info| info.remove_label("stage")).await?;
/// assert_eq!(info.title(), Some("Trip to Rome"));
/// assert!(info.labels().is_empty());
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct ConversationInfoBuilder(ConversationInfo);

impl ConversationInfoBuilder {
    /// Sets the title: one line of at most 256 characters.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.0.title = Some(title.into());
        self
    }

    /// Removes the title, if there is one.
    pub fn remove_title(mut self) -> Self {
        self.0.title = None;
        self
    }

    /// Sets the owner, such as the id of a user: at most 256 characters.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.0.owner = Some(owner.into());
        self
    }

    /// Removes the owner, if there is one.
    pub fn remove_owner(mut self) -> Self {
        self.0.owner = None;
        self
    }

    /// Sets a label. Keys have at most 64 characters, values at most 256. At most 64 labels.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.labels.insert(key.into(), value.into());
        self
    }

    /// Removes a label, if there is one with this key.
    pub fn remove_label(mut self, key: &str) -> Self {
        self.0.labels.remove(key);
        self
    }

    /// Sets a value of your program. All values together have at most 256 KiB as JSON text. They are not encrypted: keep secrets elsewhere.
    pub fn data(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.data.insert(name.into(), value.into());
        self
    }

    /// Removes a value of your program, if there is one with this name.
    pub fn remove_data(mut self, name: &str) -> Self {
        self.0.data.remove(name);
        self
    }

    /// Builds the record.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_CONVERSATION_INFO_VALUE`; the error names every wrong field.
    pub fn build(mut self) -> Result<Arc<ConversationInfo>, Error> {
        self.0.validate()?;
        Ok(Arc::new(self.0))
    }
}
