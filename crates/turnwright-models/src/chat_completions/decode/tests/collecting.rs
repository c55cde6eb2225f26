use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::reasoning_details::ReasoningDetails;
use crate::decode::{Collector, Delta};

fn merged(deltas: impl IntoIterator<Item = Vec<Value>>) -> Vec<Value> {
    let mut details = ReasoningDetails::default();
    deltas.into_iter().for_each(|pieces| details.add(pieces));
    details.into_items()
}

#[test]
fn reasoning_details_are_merged_by_type_and_index() {
    let details = merged([
        vec![json!({ "type": "reasoning.summary", "index": 0, "summary": "a", "format": null })],
        vec![json!({ "type": "reasoning.summary", "index": 0, "summary": "b", "format": "f" })],
        vec![json!({ "type": "reasoning.encrypted", "index": 0, "data": "x", "id": "1" })],
        vec![json!({ "type": "reasoning.text", "index": 1, "text": "t" })],
        vec![json!({ "type": "reasoning.text", "index": 1, "text": null, "signature": "s" })],
        vec![json!({ "type": "reasoning.encrypted", "index": 0, "data": "y", "id": "2" })],
    ]);
    let complete = json!([
        { "type": "reasoning.summary", "index": 0, "summary": "ab", "format": "f" },
        { "type": "reasoning.encrypted", "index": 0, "data": "x", "id": "1" },
        { "type": "reasoning.text", "index": 1, "text": "t", "signature": "s" },
        { "type": "reasoning.encrypted", "index": 0, "data": "y", "id": "2" },
    ]);
    assert_eq!(json!(details), complete);
}

#[test]
fn reasoning_details_without_index_continue_the_last_item() {
    let text = |text: &str| json!({ "type": "reasoning.text", "text": text });
    assert_eq!(merged([vec![text("a")], vec![text("b")]]), [text("ab")]);
    let complete = [text("a"), text("b"), json!("odd")];
    assert_eq!(merged([complete.to_vec()]), complete);
}

#[test]
fn call_slot_far_ahead_allocates_nothing() {
    let mut collector = Collector::new();
    for slot in [usize::MAX, 2_000, 1] {
        collector.add(Delta::Call {
            slot,
            id: None,
            name: Some("f".to_owned()),
            arguments: String::new(),
            extra: None,
        });
    }
    assert_eq!(collector.into_reply().tool_calls.len(), 2);
}

/// Returns items, and where their text is split.
fn items() -> impl Strategy<Value = Vec<(Value, Vec<usize>)>> {
    let kinds = prop::sample::select(vec![
        ("reasoning.text", "text"),
        ("reasoning.summary", "summary"),
        ("reasoning.encrypted", "data"),
    ]);
    let item = (
        kinds,
        "\\PC{0,12}",
        any::<bool>(),
        prop::collection::vec(0..12_usize, 0..4),
    );
    prop::collection::vec(item, 1..5).prop_map(|items| {
        let items = items.into_iter().enumerate();
        items
            .map(|(index, ((kind, field), text, signed, cuts))| {
                let mut item = json!({ "type": kind, "index": index, "format": "f" });
                item[field] = json!(text);
                if signed {
                    item["signature"] = json!("s");
                    item["id"] = json!(format!("id-{index}"));
                }
                (item, cuts)
            })
            .collect()
    })
}

/// Splits an item into pieces: each has the type and the index, the last has the rest.
fn pieces(item: &Value, cuts: &[usize]) -> Vec<Value> {
    let field = ["text", "summary", "data"]
        .into_iter()
        .find(|field| item.get(field).is_some())
        .unwrap();
    let text: Vec<char> = item[field].as_str().unwrap().chars().collect();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| *cut.min(&text.len())).collect();
    cuts.sort_unstable();
    let mut from = 0;
    let mut pieces = Vec::new();
    for cut in cuts {
        let part: String = text[from..cut].iter().collect();
        let mut piece = json!({ "type": item["type"], "index": item["index"], "signature": null });
        piece[field] = json!(part);
        pieces.push(piece);
        from = cut;
    }
    let mut last = item.clone();
    last[field] = json!(text[from..].iter().collect::<String>());
    pieces.push(last);
    pieces
}

proptest! {
    #[test]
    fn split_reasoning_details_are_reassembled(items in items(), together in any::<bool>()) {
        let complete: Vec<Value> = items.iter().map(|(item, _)| item.clone()).collect();
        let cut: Vec<Value> = items.iter().flat_map(|(item, cuts)| pieces(item, cuts)).collect();
        let chunks: Vec<Vec<Value>> = if together {
vec![cut]
} else {
cut.into_iter().map(|piece| vec![piece]).collect()
};
        let with_nulls = |mut item: Value| {
            // An earlier piece may have left a `null`, which is equivalent to a missing field.
            item.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            item
        };
        let merged: Vec<Value> = merged(chunks).into_iter().map(with_nulls).collect();
        prop_assert_eq!(merged, complete);
    }
}
