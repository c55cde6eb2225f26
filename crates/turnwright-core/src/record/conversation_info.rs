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
    /// Title, owner, labels and program data of a conversation. At most one for each conversation.
    ///
    /// A model never sees it: it is not part of the history, the transcript or the timeline of a turn. It is deleted with the
    /// conversation.
    ///
    /// [`Storage::update_conversation_info`](crate::Storage::update_conversation_info) validates and stores it, and
    /// [`Storage::conversations`](crate::Storage::conversations) lists conversations by owner and labels.
    ///
    /// ```
    /// use turnwright_core::Storage;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let storage = Storage::memory();
    /// storage.update_conversation_info("chat-1", |info| info.title("Trip to Rome").label("stage", "draft")).await?;
    /// let info = storage.update_conversation_info("chat-1", |mut info| {
    ///     info.labels.remove("stage");
    ///     info.data("model", "small-1")
    /// });
    /// let info = info.await?;
    /// assert_eq!(info.title.as_deref(), Some("Trip to Rome"));
    /// assert!(info.labels.is_empty());
    ///
    /// let wrong = storage.update_conversation_info("chat-1", |info| info.title("two\nlines").label("", "x")).await;
    /// assert_eq!(wrong.unwrap_err().message(), "invalid conversation info: title: must not contain control or invisible \
    ///     characters; the key of a label: must not be empty");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[derive(Clone, PartialEq)]
    #[non_exhaustive]
    pub struct ConversationInfo {
        pub(crate) id: Arc<str>,
        /// The title, for people: one line of at most 256 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub title: Option<String>,
        /// The owner, such as the id of a user: at most 256 characters. Only used to list conversations: it protects nothing by
        /// itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub owner: Option<String>,
        /// The labels: at most 64. Keys have at most 64 characters, values at most 256.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub labels: BTreeMap<String, String>,
        /// The data of programs, by name: at most 256 KiB as JSON text. It is not encrypted: keep secrets elsewhere.
        #[serde(with = "part", default, skip_serializing_if = "Map::is_empty")]
        pub data: Map<String, Value>,
    }
}

impl ConversationInfo {
    /// The id of the one that counts for its conversation.
    pub const ID: &str = "info";

    /// Its id among the records of its kind: [`ConversationInfo::ID`].
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sets the title.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the owner.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Sets a label.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Sets a value of your program.
    #[must_use]
    pub fn data(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.data.insert(name.into(), value.into());
        self
    }

    /// Validates it.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_CONVERSATION_INFO_VALUE`; the error names every wrong field.
    pub fn build(mut self) -> Result<Arc<Self>, Error> {
        self.validate()?;
        Ok(Arc::new(self))
    }

    /// Returns whether it has no title, no owner, no labels and no data.
    pub(crate) fn is_empty(&self) -> bool {
        self.title.is_none()
            && self.owner.is_none()
            && self.labels.is_empty()
            && self.data.is_empty()
    }
}

impl Default for ConversationInfo {
    fn default() -> Self {
        ConversationInfo {
            id: Self::ID.into(),
            title: None,
            owner: None,
            labels: BTreeMap::new(),
            data: Map::new(),
        }
    }
}

const MAX_CHARS: usize = 256;
const MAX_LABELS: usize = 64;
const MAX_KEY_CHARS: usize = 64;
const MAX_DATA_BYTES: usize = 256 * 1024;

impl Body for ConversationInfo {
    const NAME: &'static str = "conversation info";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_CONVERSATION_INFO_VALUE;

    fn check(&mut self, wrong: &mut Violations) {
        wrong.check("id", !self.id.is_empty(), "must not be empty");
        if let Some(title) = &self.title {
            wrong.check_text("title", title, MAX_CHARS, shows_in_text);
            wrong.check("title", title.chars().any(is_visible), "must not be empty");
        }
        if let Some(owner) = &self.owner {
            wrong.check("owner", !owner.is_empty(), "must not be empty");
            wrong.check_text("owner", owner, MAX_CHARS, is_plain);
        }
        let found = self.labels.len();
        let many = format!("there are {found}: at most {MAX_LABELS} are allowed");
        wrong.check("labels", found <= MAX_LABELS, &many);
        for (key, value) in &self.labels {
            let field = "the key of a label";
            wrong.check(field, !key.is_empty(), "must not be empty");
            wrong.check_text(field, key, MAX_KEY_CHARS, is_plain);
            let field = "the value of a label";
            wrong.check_text(field, value, MAX_CHARS, shows_in_text);
        }
        let data = self.data.iter();
        let bytes = data.map(|(name, value)| name.len() + value.to_string().len());
        let bytes: usize = bytes.sum();
        let much = format!("has {bytes} bytes: at most {MAX_DATA_BYTES} are allowed");
        wrong.check("data", bytes <= MAX_DATA_BYTES, &much);
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
