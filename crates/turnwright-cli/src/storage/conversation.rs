//! Names of conversations. A conversation that is restarted continues as its next part: `shop`, `shop~2`, `shop~3`.

use turnwright::record::RecordKind;
use turnwright::store::{ConversationFilter, ConversationId, Query, Store as _, StoreError};

use super::{ChatNote, Storage};
use crate::exit::misuse;

/// The longest name of a conversation.
const MAX_NAME_LEN: usize = 64;

/// Separates the name from the number of the part.
const MARK: char = '~';

/// A part of a conversation. Parts do not see each other's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversationPart {
    pub(crate) name: String,
    /// Counted from 1.
    pub(crate) number: u64,
}

impl ConversationPart {
    /// Parses a name. Without a number it is the first part.
    pub(crate) fn named(text: &str) -> Self {
        let numbered = text.rsplit_once(MARK).and_then(|(name, digits)| {
            // Only the canonical form: `shop~02` is another conversation.
            let number: u64 = digits.parse().ok()?;
            (number >= 1 && number.to_string() == digits).then_some((name, number))
        });
        let (name, number) = numbered.unwrap_or((text, 1));
        ConversationPart {
            name: name.to_owned(),
            number,
        }
    }

    /// The name of its records in the store.
    pub(crate) fn conversation_id(&self) -> ConversationId {
        ConversationId::new(self.to_string())
    }

    /// The next part.
    pub(crate) fn next(&self) -> Self {
        ConversationPart {
            name: self.name.clone(),
            number: self.number.saturating_add(1),
        }
    }

    /// The part to continue: the one that is named, or the last one.
    pub(crate) async fn current(storage: &Storage, name: &str) -> anyhow::Result<Self> {
        let named = ConversationPart::named(name);
        if !name.contains(MARK) {
            let last = parts_of(storage, &named.name).await?.pop();
            return Ok(last.unwrap_or(named));
        }
        let first = Query::all().limit(1);
        let loaded = storage.store.load(&named.conversation_id(), &first).await?;
        if loaded.records.is_empty() {
            Err(misuse(format!(
                "no conversation `{name}`. See `turnwright turns list`"
            )))
        } else {
            Ok(named)
        }
    }

    /// The part for a restart: the last one if it is empty, otherwise the one after it.
    pub(crate) async fn next_empty(&self, storage: &Storage) -> Result<Self, StoreError> {
        let last = parts_of(storage, &self.name).await?.pop();
        let last = last.unwrap_or_else(|| self.clone());
        let first = Query::all().limit(2);
        let loaded = storage.store.load(&last.conversation_id(), &first).await?;
        let mut records = loaded.into_records();
        if records.all(|record| record.kind() == RecordKind::ConversationInfo) {
            Ok(last)
        } else {
            Ok(last.next())
        }
    }
}

/// The name in the store and on the command line.
impl std::fmt::Display for ConversationPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number {
            1 => f.write_str(&self.name),
            number => write!(f, "{}{MARK}{number}", self.name),
        }
    }
}

/// The parts of a conversation, in order. Parts after the first need a note of a chat.
pub(crate) async fn parts_of(
    storage: &Storage,
    name: &str,
) -> Result<Vec<ConversationPart>, StoreError> {
    let filter = ConversationFilter::all().prefix(name);
    let mut parts = Vec::new();
    for found in storage.store.conversations(&filter).await? {
        let conversation_id = found.id;
        let part = ConversationPart::named(conversation_id.as_str());
        if part.name != name || part.conversation_id() != conversation_id {
            continue;
        }
        if part.number == 1 || ChatNote::of(storage, &conversation_id).await?.is_some() {
            parts.push(part);
        }
    }
    parts.sort_by_key(|part| part.number);
    Ok(parts)
}

/// Rejects names that could escape the directory or be ambiguous.
pub(crate) fn check_name(name: &str) -> anyhow::Result<()> {
    let name = ConversationPart::named(name).name;
    let ch = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '.' | '_' | '-');
    let plain = !name.is_empty()
        && name.len() <= MAX_NAME_LEN
        && name.chars().all(ch)
        && !name.starts_with('.')
        && !name.contains("..");
    if plain {
        Ok(())
    } else {
        Err(misuse(format!(
            "invalid conversation name: use 1 to {MAX_NAME_LEN} of the characters A-Z a-z 0-9 . _ - and do not begin with a dot"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_escape_its_directory() {
        for name in ["default", "a", "2026-01-31_x.y", "a~2"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(65);
        for name in [
            "", ".", "..", "a..b", ".hidden", "a/b", "a\\b", "ä", "a b", &long, "a~", "a~0",
            "a~02", "~2", "a~1~2", "a~-1",
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_part_has_one_canonical_name() {
        let part = ConversationPart::named("shop~12");
        assert_eq!((part.name.as_str(), part.number), ("shop", 12));
        assert_eq!(part.to_string(), "shop~12");
        assert_eq!(part.next().to_string(), "shop~13");
        assert_eq!(ConversationPart::named("shop~1").to_string(), "shop");
        assert_eq!(ConversationPart::named("shop").next().to_string(), "shop~2");
        assert_eq!(
            ConversationPart::named("shop~18446744073709551616").number,
            1
        );
    }

    proptest::proptest! {
        #[test]
        fn different_names_have_different_ids(one in "[ab]{1,2}(~[0-3]{1,2})?", other in "[ab]{1,2}(~[0-3]{1,2})?") {
            proptest::prop_assume!(check_name(&one).is_ok() && check_name(&other).is_ok());
            let (first, second) = (ConversationPart::named(&one), ConversationPart::named(&other));
            // Only the first part has two names: its own, and that with its number.
            let same = one == other || first == second;
            proptest::prop_assert_eq!(first.conversation_id() == second.conversation_id(), same);
        }
    }
}
