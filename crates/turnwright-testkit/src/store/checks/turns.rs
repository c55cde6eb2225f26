//! Finding turns across all conversations.

use turnwright_core::record::{Lease, RecordKind, TurnState};
use turnwright_core::store::{Batch, FoundTurn, Store as _, TurnFilter};

use crate::store::chat::Chat;
use crate::store::outcome::{Outcome, ensure, same};
use crate::store::sample::{gate_of, lease_of, time, turn_in};

fn named(turns: &[FoundTurn]) -> Vec<String> {
    let name = |turn: &FoundTurn| format!("{}:{}", turn.conversation, turn.turn_id);
    turns.iter().map(name).collect()
}

/// Writes several conversations with turns in different states.
async fn filled(chat: &Chat) -> Outcome {
    use TurnState::{Abandoned, Answered, Failed, Running};
    let records = [
        ("b", turn_in("1", Answered, 10)),
        ("b", turn_in("2", Running, 50)),
        ("a/1", turn_in("1", Running, 30)),
        ("a/1", turn_in("2", Failed, 20)),
        ("a/2", turn_in("x", Running, 30)),
        ("a/2", turn_in("y", Running, 30)),
        ("A", turn_in("1", Abandoned, 5)),
        ("b", lease_of(Some("2"), 100)),
        ("a/1", lease_of(None, 100)),
        ("a/2", lease_of(Some("x"), 60)),
        ("b", gate_of("g", "1", false)),
        ("a/2", gate_of("g-1", "y", true)),
        ("a/2", gate_of("g-2", "y", true)),
        ("a/2", gate_of("g-3", "x", true)),
    ];
    for (conversation, record) in records {
        chat.other(conversation).put(record?).await?;
    }
    // A record of another kind with the id of a turn is not a turn.
    chat.other("c").note("1", "x").await?;
    Ok(())
}

const ALL: [&str; 7] = ["A:1", "b:1", "a/1:2", "a/1:1", "a/2:x", "a/2:y", "b:2"];

pub(super) async fn conditions(chat: Chat) -> Outcome {
    filled(&chat).await?;
    let all = TurnFilter::all;
    let running = || all().state(TurnState::Running);
    let failed = || all().state(TurnState::Failed);
    let expired = |second| running().lease_expired_before(time(second));
    let cases: [(TurnFilter, &[&str]); 16] = [
        (all(), &ALL),
        (running(), &["a/1:1", "a/2:x", "a/2:y", "b:2"]),
        (
            failed().state(TurnState::Answered).state(TurnState::Failed),
            &["b:1", "a/1:2"],
        ),
        (all().state(TurnState::Limit), &[]),
        (all().turn_id("1"), &["A:1", "b:1", "a/1:1"]),
        (all().turn_id("_"), &[]),
        (running().turn_id("1"), &["a/1:1"]),
        (all().prefix("a/"), &["a/1:2", "a/1:1", "a/2:x", "a/2:y"]),
        (all().prefix("%"), &[]),
        (expired(60), &["a/1:1", "a/2:y"]),
        (expired(61), &["a/1:1", "a/2:x", "a/2:y"]),
        (expired(101), &["a/1:1", "a/2:x", "a/2:y", "b:2"]),
        (all().waiting(), &["a/2:x", "a/2:y"]),
        (all().waiting().turn_id("y"), &["a/2:y"]),
        (failed().waiting(), &[]),
        (expired(0).waiting().prefix("a"), &["a/2:y"]),
    ];
    for (filter, promised) in cases {
        let found = named(&chat.store.find_turns(&filter).await?);
        same(&format!("{filter:?}"), found, promised)?;
    }
    Ok(())
}

pub(super) async fn pages(chat: Chat) -> Outcome {
    filled(&chat).await?;
    let filters = [
        TurnFilter::all(),
        TurnFilter::all().state(TurnState::Running),
        TurnFilter::all().turn_id("1"),
        TurnFilter::all().waiting(),
    ];
    for filter in filters {
        let promised = named(&chat.store.find_turns(&filter).await?);
        for size in 1..=8 {
            let mut filter = filter.clone().limit(size);
            let mut found = Vec::new();
            loop {
                let page = chat.store.find_turns(&filter).await?;
                ensure(page.len() <= size, || {
                    format!("a page of {size} has {}", page.len())
                })?;
                let Some(last) = page.last() else { break };
                filter = filter.after(last.cursor());
                found.extend(named(&page));
                ensure(found.len() <= ALL.len(), || {
                    "pages of turns do not end: `after` and `limit` do not work together".to_owned()
                })?;
            }
            same(&format!("all pages of {size}"), found, promised.clone())?;
        }
    }
    let none = chat.store.find_turns(&TurnFilter::all().limit(0)).await?;
    same("a page of none", none.len(), 0)
}

pub(super) async fn contents(chat: Chat) -> Outcome {
    filled(&chat).await?;
    let found = chat.store.find_turns(&TurnFilter::all()).await?;
    let until = |turn: &FoundTurn| turn.lease.as_ref().map(|lease| lease.until);
    let leases: Vec<_> = found.iter().map(until).collect();
    let (x, b) = (Some(time(60)), Some(time(100)));
    same("leases", leases, [None, None, None, None, x, None, b])?;
    let gates = |turn: &FoundTurn| -> String {
        let ids = turn.open_gates.iter().map(|gate| gate.id());
        ids.collect::<Vec<_>>().join(" ")
    };
    let gates: Vec<_> = found.iter().map(gates).collect();
    same("open gates", gates, ["", "", "", "", "g-3", "g-1 g-2", ""])?;
    for turn in &found {
        let began = turn.turn.as_ref().map(|record| record.started_at);
        same("when it began", Some(turn.started_at), began)?;
        same("damaged records", turn.damaged.len(), 0)?;
    }
    Ok(())
}

pub(super) async fn updates(chat: Chat) -> Outcome {
    let running = TurnFilter::all().state(TurnState::Running);
    let expired = running.clone().lease_expired_before(time(60));
    let waiting = TurnFilter::all().waiting();
    let turn = |state| turn_in("t", state, 1).map(|turn| Batch::new().put(turn));
    let lease = |until| lease_of(Some("t"), until).map(|lease| Batch::new().put(lease));
    let gate = |id, open| gate_of(id, "t", open).map(|gate| Batch::new().put(gate));
    let steps = [
        (turn(TurnState::Running)?, [1, 1, 0]),
        (lease(100)?, [1, 0, 0]),
        (lease(50)?, [1, 1, 0]),
        (gate("g", true)?, [1, 1, 1]),
        (gate("g", false)?, [1, 1, 0]),
        (gate("h", true)?, [1, 1, 1]),
        (Batch::new().delete(RecordKind::Gate, "h"), [1, 1, 0]),
        (lease(100)?, [1, 0, 0]),
        (Batch::new().delete(RecordKind::Lease, Lease::ID), [1, 1, 0]),
        (turn(TurnState::Answered)?, [0, 0, 0]),
        (turn(TurnState::Running)?, [1, 1, 0]),
        (Batch::new().delete(RecordKind::Turn, "t"), [0, 0, 0]),
    ];
    for (batch, promised) in steps {
        let what = format!("turns after {:?}", batch.changes);
        chat.apply(batch).await?;
        for (filter, promised) in [&running, &expired, &waiting].into_iter().zip(promised) {
            same(&what, chat.store.find_turns(filter).await?.len(), promised)?;
        }
    }
    Ok(())
}
