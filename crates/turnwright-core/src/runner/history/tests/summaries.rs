use super::*;
use crate::record::{Coverage, RecordRef, Retrievable};
use crate::trust::TrustTier;

/// The ids that a turn sees of these records.
async fn loaded(records: impl IntoIterator<Item = Record>, history: History) -> Vec<String> {
    let store = holding("chat", records).await;
    let (mut ids, _) = seen(&store, history).await;
    // The input of the turn.
    ids.pop();
    ids
}

/// A summary that covers the records up to `last`.
fn summary(id: &str, last: &Record, next: Option<&Record>, opening: Option<&str>) -> Record {
    let covers = Coverage {
        turn_id: "t".into(),
        model: None,
        exchanges: 1,
        summarised: 1,
        omitted: 0,
        first: RecordRef::of(last),
        last: RecordRef::of(last),
        next: next.map(RecordRef::of),
        opening: opening.map(Into::into),
    };
    let summary = Retrievable::summary(format!("summary {id}"), TrustTier::FirstParty, covers);
    summary.id(id).build().unwrap().into()
}

#[tokio::test]
async fn a_summary_replaces_what_it_covers() {
    let (one, two) = (user("one"), user("two"));
    let records = [
        one.clone(),
        model("1"),
        two.clone(),
        model("2"),
        summary("s", &model("1"), Some(&two), None),
        memory("m", "m"),
        user("three"),
    ];
    let ids = loaded(records.clone(), History::all()).await;
    assert_eq!(ids, ["s", "two", "2", "m", "three"]);
    // Records whose neighbours were deleted.
    let mut without_next = records.to_vec();
    without_next.remove(2);
    let ids = loaded(without_next, History::all()).await;
    assert_eq!(ids, ["s", "2", "m", "three"]);
    let mut without_last = records.to_vec();
    without_last.remove(1);
    let ids = loaded(without_last, History::all()).await;
    assert_eq!(ids, ["s", "two", "2", "m", "three"]);
    let pages = History::all().page_size(1);
    let ids = loaded(records.clone(), pages).await;
    assert_eq!(ids, ["s", "two", "2", "m", "three"]);
    // A history without retrievables does not know the summary.
    let kinds = History::all().kinds([RecordKind::Message]);
    let ids = loaded(records, kinds).await;
    assert_eq!(ids, ["one", "1", "two", "2", "three"]);
}

#[tokio::test]
async fn only_the_newest_summary_counts() {
    let (two, three) = (user("two"), user("three"));
    let records = [
        user("one"),
        model("1"),
        two.clone(),
        model("2"),
        summary("s-1", &model("1"), Some(&two), None),
        three.clone(),
        model("3"),
        summary("s-2", &model("2"), Some(&three), None),
    ];
    let ids = loaded(records, History::all()).await;
    assert_eq!(ids, ["s-2", "three", "3"]);
}

#[tokio::test]
async fn the_message_that_a_summary_keeps_follows_it() {
    let next = thought("3");
    let records = [
        user("one"),
        user("two"),
        model("1"),
        model("2"),
        next.clone(),
        model("4"),
        summary("s", &model("2"), Some(&next), Some("two")),
    ];
    let ids = loaded(records, History::all()).await;
    assert_eq!(ids, ["s", "two", "3", "4"]);
}
