use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::estimate::Sizes;
use super::material::{parts_of, taint_of};
use super::plan::{Cut, Item, Limits};
use super::units::units;
use super::*;
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::record::{
    Memory, Message, Record, ResponseRef, Retrievable, Retrieved, Thought, ToolCall, ToolResults,
};
use crate::render::Renderer;
use crate::schema::shortened;
use crate::trust::{ConversationSecret, TrustTier};

const LIMITS: Limits = Limits {
    window: 1_000,
    high: 800,
    low: 500,
    records: 1_000,
    exchanges: usize::MAX,
};

fn opens(tokens: u64) -> Item {
    Item {
        tokens,
        records: 1,
        opens: true,
        ..Item::default()
    }
}

fn response(tokens: u64) -> Item {
    Item {
        opens: false,
        ..opens(tokens)
    }
}

fn cut(items: &[Item]) -> Option<(usize, Option<usize>)> {
    let cut = LIMITS.cut(items, 50, 50);
    cut.map(|cut| (cut.end, cut.opening))
}

#[test]
fn thresholds_are_shares_of_the_window() {
    let limits = compact(128_000).limits();
    assert_eq!((limits.high, limits.low), (102_400, 64_000));
    let limits = compact(u64::MAX).limits();
    assert!(limits.high > u64::MAX / 100 * 79 && limits.low < limits.high);
    let limits = compact(1_000).above(2_000).down_to(3_000).limits();
    assert_eq!((limits.high, limits.low), (1_000, 1_000));
    assert_eq!(compact(128_000).longest_summary(), 4_000);
    assert_eq!(compact(8_000).longest_summary(), 500);
    assert_eq!(compact(0).longest_summary(), 1);
}

#[test]
fn as_many_exchanges_stay_as_fit() {
    let items = [
        opens(10),
        response(190),
        opens(10),
        response(190),
        opens(10),
        response(190),
        opens(10),
    ];
    // 100 + 210 + 200 = 510 is too much.
    assert_eq!(cut(&items), Some((4, None)));
    let few = Limits {
        exchanges: 1,
        ..LIMITS
    };
    assert_eq!(few.cut(&items, 50, 50).map(|cut| cut.end), Some(6));
}

#[test]
fn a_long_exchange_is_cut_between_its_responses_and_its_first_message_stays() {
    let items = [
        opens(10),
        response(10),
        opens(100),
        response(200),
        response(200),
        response(200),
    ];
    let expected = Cut {
        end: 5,
        opening: Some(2),
        tokens: 50 + 50 + 100 + 200,
    };
    assert_eq!(LIMITS.cut(&items, 50, 50), Some(expected));
}

#[test]
fn the_last_unit_and_open_calls_are_never_covered() {
    assert_eq!(cut(&[]), None);
    assert_eq!(cut(&[opens(900)]), None);
    assert_eq!(
        cut(&[opens(10), response(900)]),
        None,
        "only the message could be covered"
    );
    let open = Item {
        is_open: true,
        ..response(300)
    };
    let items = [opens(10), response(300), open, response(300)];
    assert_eq!(cut(&items), Some((2, Some(0))));
}

#[test]
fn a_summary_is_not_replaced_by_one_that_covers_nothing_else() {
    let summary = Item {
        is_summary: true,
        ..response(300)
    };
    assert_eq!(cut(&[summary, opens(10), response(900)]), None);
    assert_eq!(
        cut(&[summary, opens(10), response(10), opens(700)]),
        Some((3, None))
    );
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let item = (1_u64..400, 1_usize..5, any::<bool>(), 0_u8..20);
    let item = item.prop_map(|(tokens, records, opens, open)| Item {
        tokens,
        records,
        opens,
        is_open: open == 0 && !opens,
        is_summary: false,
    });
    prop::collection::vec(item, 0..40)
}

proptest! {
    #[test]
    fn a_cut_covers_something_and_is_as_good_as_possible(items in items(), keep in 1_usize..8, fixed in 0_u64..600) {
        let limits = Limits { exchanges: keep, ..LIMITS };
        let Some(cut) = limits.cut(&items, fixed, 50) else {
            // Nothing but the message that starts the exchange could be covered.
            let open = items.iter().position(|item| item.is_open).unwrap_or(items.len());
            prop_assert!(items.iter().take(open.min(items.len().saturating_sub(1))).count() <= 1);
            return Ok(());
        };
        let covered = |at: &usize| cut.covers(*at);
        let all = 0..items.len();
        prop_assert!(all.clone().filter(covered).count() > 0);
        prop_assert!(!cut.covers(items.len() - 1));
        prop_assert!(all.clone().filter(covered).all(|at| !items[at].is_open));
        let shown: u64 = all.filter(|at| !cut.covers(*at)).map(|at| items[at].tokens).sum();
        prop_assert_eq!(cut.tokens, fixed + 50 + shown);
        // The message that starts the exchange of the first shown unit is shown.
        if !items[cut.end].opens {
            prop_assert_eq!(cut.opening, items[..cut.end].iter().rposition(|item| item.opens));
        }
        // If the threshold is missed, no later cut would reach it.
        if cut.tokens > limits.low {
            let last = items.iter().position(|item| item.is_open).unwrap_or(items.len()).min(items.len() - 1);
            for end in cut.end..=last {
                let opening = items[..end].iter().rposition(|item| item.opens).filter(|_| !items[end].opens);
                let rest: u64 = items[end..].iter().map(|item| item.tokens).sum();
                let tokens = fixed + 50 + rest + opening.map_or(0, |at| items[at].tokens);
                prop_assert!(tokens > limits.low, "{end} {tokens}");
            }
        }
    }
}

fn seen() -> ToolResults {
    let artifact = SpooledArtifact::in_memory("seen", ArtifactKind::TEXT);
    ToolResults::Artifacts(vec![artifact])
}

fn call(id: &str, at: u64) -> Record {
    let time = |at| SystemTime::UNIX_EPOCH + Duration::from_secs(at);
    let call = ToolCall::builder("look", "{}").id(id).results(seen());
    let call = call.created_at(time(at)).completed_at(time(at + 1));
    call.build().unwrap().into()
}

fn sizes_of(timeline: &[Record]) -> Vec<usize> {
    let units = units(timeline);
    units.iter().map(|unit| unit.records().len()).collect()
}

#[test]
fn a_response_and_its_calls_are_one_unit() {
    let state = ResponseRef::new();
    let other = ResponseRef::new();
    let said = |state: &ResponseRef| -> Record {
        let message = Message::assistant("hm").response(state.clone());
        message.build().unwrap().into()
    };
    let called = |state: &ResponseRef| -> Record {
        let call = ToolCall::builder("look", "{}").results(seen());
        call.response(state.clone()).build().unwrap().into()
    };
    let memory = Memory::new("m").build().unwrap().into();
    let user: Record = Message::user("go").build().unwrap().into();
    let timeline = [
        user.clone(),
        said(&state),
        called(&state),
        memory,
        called(&state),
        called(&other),
        said(&other),
        user,
    ];
    assert_eq!(
        sizes_of(&timeline),
        [1, 3, 2, 1],
        "the memory is in no unit"
    );
}

#[test]
fn without_a_protocol_times_tell_responses_apart() {
    let said: Record = Message::assistant("hm").build().unwrap().into();
    let thought: Record = Thought::new("hm").build().unwrap().into();
    let timeline = [
        thought.clone(),
        said.clone(),
        call("a", 10),
        call("b", 10),
        // Proposed after the others had ended.
        call("c", 20),
        said,
        thought,
    ];
    assert_eq!(sizes_of(&timeline), [4, 1, 1, 1]);
}

#[tokio::test]
async fn each_record_is_rendered_once() {
    let renderer = Renderer::new(ConversationSecret::from_bytes([7; 32]));
    let mut sizes = Sizes::default();
    let record: Record = Message::user("one two three").build().unwrap().into();
    let first = sizes.of_record(&record, &renderer, "").await;
    assert_eq!(sizes.of_record(&record, &renderer, "").await, first);
    assert_eq!(sizes.rendered, 1);
    let longer = Message::user("one two three ".repeat(9)).id(record.id());
    let changed: Record = longer.build().unwrap().into();
    assert!(sizes.of_record(&changed, &renderer, "").await > first);
    assert_eq!(sizes.rendered, 2);
}

#[tokio::test]
async fn each_part_for_the_summariser_has_its_own_tier() {
    let text = |part: &Arc<Retrievable>| match part.content() {
        Retrieved::Text(text) => text.clone(),
        _ => String::new(),
    };
    let parts = parts_of(&call("a", 1)).await.unwrap();
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].tier(), TrustTier::ThirdPartyPublic);
    assert_eq!(text(&parts[0]), "Arguments: {}\nResult: seen");
    assert_eq!(parts[0].source(), Some("tool look"));

    let user: Record = Message::user("x".repeat(100_000)).build().unwrap().into();
    let parts = parts_of(&user).await.unwrap();
    assert_eq!(parts[0].tier(), TrustTier::FirstParty);
    assert!(
        text(&parts[0]).len() < 17_000,
        "long messages are shortened"
    );

    let thought: Record = Thought::new("hm").build().unwrap().into();
    assert!(parts_of(&thought).await.unwrap().is_empty());
    let all = [user, thought];
    assert_eq!(
        taint_of(all.iter(), None).least_trusted(),
        Some(TrustTier::FirstParty)
    );
    let all = [call("a", 1), call("b", 1)];
    assert_eq!(
        taint_of(all.iter(), None).least_trusted(),
        Some(TrustTier::ThirdPartyPublic)
    );
    assert_eq!(shortened("äöü", 3), "ä… (4 more bytes omitted)");
}
