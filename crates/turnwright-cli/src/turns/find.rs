//! Finds a turn by a prefix of its id.

use super::summary::{Found, TurnSummary, turns};
use crate::exit::misuse;
use crate::storage::Storage;
use crate::terminal::one_line;
use crate::units::{listed, plural};

/// The minimum length of a shortened id.
const SHORTEST: usize = 8;
/// The most turns listed for an ambiguous prefix.
const NAMED: usize = 4;

/// The turn with this id, or the only one whose id has this prefix.
pub(super) async fn find(storage: &Storage, prefix: &str) -> anyhow::Result<TurnSummary> {
    let Found { mut turns, damaged } = turns(storage, None).await?;
    let length = short(turns.iter().map(TurnSummary::id));
    let exact = turns.iter().any(|summary| summary.id() == prefix);
    // The empty prefix matches nothing.
    turns.retain(|summary| {
        summary.id() == prefix || !exact && !prefix.is_empty() && summary.id().starts_with(prefix)
    });
    let shown = one_line(prefix, 64);
    if turns.len() > 1 {
        let named = turns.iter().map(|summary| {
            let conversation_id = one_line(summary.conversation_id.as_str(), 64);
            format!("{} in {conversation_id}", shortened(summary.id(), length))
        });
        return Err(misuse(format!(
            "several turns begin with `{shown}`. Use more of the id: {}",
            listed(named, NAMED)
        )));
    }
    turns.pop().ok_or_else(|| {
        let option = storage.place.option();
        let unread = match damaged.len() as u64 {
            0 => String::new(),
            many => format!(" ({} cannot be read)", plural(many, "damaged record")),
        };
        misuse(format!(
            "no turn begins with `{shown}`{unread}. See `turnwright turns list{option}`"
        ))
    })
}

/// The length at which all shortened ids are unique.
pub(super) fn short<'s>(ids: impl Iterator<Item = &'s str>) -> usize {
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    let alike = |pair: &[&str]| match pair {
        [one, other] => {
            let pairs = one.chars().zip(other.chars());
            pairs.take_while(|(one, other)| one == other).count()
        }
        _ => 0,
    };
    let most = ids.windows(2).map(alike).max();
    most.map_or(SHORTEST, |alike| SHORTEST.max(alike + 1))
}

/// A shortened id, without a trailing dash.
pub(super) fn shortened(id: &str, length: usize) -> String {
    let cut: String = id.chars().take(length).collect();
    one_line(cut.trim_end_matches('-'), 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_id_is_as_long_as_necessary() {
        let length = |ids: &[&str]| short(ids.iter().copied());
        assert_eq!(length(&[]), 8);
        assert_eq!(length(&["019a8c3e-7f21-7aaa"]), 8);
        assert_eq!(length(&["019a8c3e-7f21-7aaa", "119a8c3e-7f21-7aaa"]), 8);
        assert_eq!(length(&["019a8c3e-7f21-7aaa", "019a8c3e-7f22-7aaa"]), 13);
        // An id that is a prefix of another one is complete.
        assert_eq!(length(&["turn-1", "turn-12", "turn-2"]), 8);
        assert_eq!(length(&["äöüäöüäöüa", "äöüäöüäöüb"]), 10);
        assert_eq!(shortened("019a8c3e-7f21", 9), "019a8c3e");
        assert_eq!(shortened("a\u{1b}[2J", 13), "a\\u{1b}[2J");
    }

    proptest::proptest! {
        #[test]
        fn a_shortened_id_is_unique(ids in proptest::collection::btree_set("[ab]{1,14}", 0..20)) {
            let length = short(ids.iter().map(String::as_str));
            for id in &ids {
                let shown: String = id.chars().take(length).collect();
                let meant = ids.iter().filter(|other| other.starts_with(&shown)).count();
                // A complete id is found even if it is a prefix of another one.
                proptest::prop_assert!(meant == 1 || shown == *id, "{shown} of {ids:?}");
            }
        }
    }
}
