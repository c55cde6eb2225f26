//! Turns over all conversations.

use std::sync::Arc;

use turnwright_core::record::{Lease, RecordKind, TurnState};
use turnwright_core::store::{Batch, ConversationId, FoundTurn, Store, StoreExt as _, TurnFilter};

use crate::store::outcome::{Broken, Outcome, ensure, same};
use crate::store::sample::{gate_of, lease_of, note, time, turn_in};

fn named(turns: &[FoundTurn]) -> Vec<String> {
    let name = |turn: &FoundTurn| format!("{}:{}", turn.conversation, turn.turn_id);
    turns.iter().map(name).collect()
}

/// Several conversations with turns in different states.
async fn filled(store: &dyn Store) -> Outcome {
    use TurnState::{Abandoned, Answered, Failed, Running};
    let turns = [
        ("b", "1", Answered, 10),
        ("b", "2", Running, 50),
        ("a/1", "1", Running, 30),
        ("a/1", "2", Failed, 20),
        ("a/2", "x", Running, 30),
        ("a/2", "y", Running, 30),
        ("A", "1", Abandoned, 5),
    ];
    for (conversation, id, state, began) in turns {
        store
            .put(
                &ConversationId::new(conversation),
                turn_in(id, state, began)?,
            )
            .await?;
    }
    // Another kind with the id of a turn is none.
    store
        .put(&ConversationId::new("c"), note("1", "x")?)
        .await?;
    store
        .put(&ConversationId::new("b"), lease_of(Some("2"), 100)?)
        .await?;
    store
        .put(&ConversationId::new("a/1"), lease_of(None, 100)?)
        .await?;
    store
        .put(&ConversationId::new("a/2"), lease_of(Some("x"), 60)?)
        .await?;
    store
        .put(&ConversationId::new("b"), gate_of("g", "1", false)?)
        .await?;
    store
        .put(&ConversationId::new("a/2"), gate_of("g-1", "y", true)?)
        .await?;
    store
        .put(&ConversationId::new("a/2"), gate_of("g-2", "y", true)?)
        .await?;
    store
        .put(&ConversationId::new("a/2"), gate_of("g-3", "x", true)?)
        .await?;
    Ok(())
}

const ALL: [&str; 7] = ["A:1", "b:1", "a/1:2", "a/1:1", "a/2:x", "a/2:y", "b:2"];

pub(super) async fn conditions(store: Arc<dyn Store>) -> Outcome {
    filled(&*store).await?;
    let all = TurnFilter::all;
    let running = || all().state(TurnState::Running);
    let cases: [(TurnFilter, &[&str]); 16] = [
        (all(), &ALL),
        (running(), &["a/1:1", "a/2:x", "a/2:y", "b:2"]),
        (
            all()
                .state(TurnState::Failed)
                .state(TurnState::Answered)
                .state(TurnState::Failed),
            &["b:1", "a/1:2"],
        ),
        (all().state(TurnState::Limit), &[]),
        (all().turn_id("1"), &["A:1", "b:1", "a/1:1"]),
        (all().turn_id("_"), &[]),
        (running().turn_id("1"), &["a/1:1"]),
        (all().prefix("a/"), &["a/1:2", "a/1:1", "a/2:x", "a/2:y"]),
        (all().prefix("%"), &[]),
        (
            running().lease_expired_before(time(60)),
            &["a/1:1", "a/2:y"],
        ),
        (
            running().lease_expired_before(time(61)),
            &["a/1:1", "a/2:x", "a/2:y"],
        ),
        (
            running().lease_expired_before(time(101)),
            &["a/1:1", "a/2:x", "a/2:y", "b:2"],
        ),
        (all().waiting(), &["a/2:x", "a/2:y"]),
        (all().waiting().turn_id("y"), &["a/2:y"]),
        (all().waiting().state(TurnState::Failed), &[]),
        (
            all()
                .waiting()
                .prefix("a")
                .lease_expired_before(time(0))
                .state(TurnState::Running),
            &["a/2:y"],
        ),
    ];
    for (filter, promised) in cases {
        let found = named(&store.find_turns(&filter).await?);
        same(&format!("{filter:?}"), found, owned(promised))?;
    }
    Ok(())
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(super) async fn pages(store: Arc<dyn Store>) -> Outcome {
    filled(&*store).await?;
    let filters = [
        TurnFilter::all(),
        TurnFilter::all().state(TurnState::Running),
        TurnFilter::all().turn_id("1"),
        TurnFilter::all().waiting(),
    ];
    for filter in filters {
        let promised = named(&store.find_turns(&filter).await?);
        for size in 1..=8 {
            let mut filter = filter.clone().limit(size);
            let mut found = Vec::new();
            loop {
                let page = store.find_turns(&filter).await?;
                ensure(page.len() <= size, || {
                    format!("a page of {size} has {}", page.len())
                })?;
                let Some(last) = page.last() else { break };
                filter = filter.after(last.cursor());
                found.extend(named(&page));
                ensure(found.len() <= ALL.len(), || {
                    "pages of turns do not end: `after` and `limit` do not go together".to_owned()
                })?;
            }
            same(&format!("all pages of {size}"), found, promised.clone())?;
        }
    }
    let none = store.find_turns(&TurnFilter::all().limit(0)).await?;
    same("a page of none", named(&none), vec![])
}

pub(super) async fn contents(store: Arc<dyn Store>) -> Outcome {
    filled(&*store).await?;
    let found = store.find_turns(&TurnFilter::all()).await?;
    let leases = found
        .iter()
        .map(|turn| turn.lease.as_ref().map(|lease| lease.until()));
    let promised = vec![
        None,
        None,
        None,
        None,
        Some(time(60)),
        None,
        Some(time(100)),
    ];
    same("leases", leases.collect(), promised)?;
    let gates = |turn: &FoundTurn| -> String {
        let ids = turn.open_gates.iter().map(|gate| gate.gate_id());
        ids.collect::<Vec<_>>().join(" ")
    };
    let promised = owned(&["", "", "", "", "g-3", "g-1 g-2", ""]);
    same("open gates", found.iter().map(gates).collect(), promised)?;
    for turn in &found {
        let began = turn.turn.as_ref().map(|record| record.began_at());
        same("when it began", Some(turn.began_at), began)?;
        same("damaged records", turn.damaged.len(), 0)?;
    }
    Ok(())
}

pub(super) async fn updates(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let running = TurnFilter::all().state(TurnState::Running);
    let expired = running.clone().lease_expired_before(time(60));
    let waiting = TurnFilter::all().waiting();
    let counts = async || -> Result<[usize; 3], Broken> {
        Ok([
            store.find_turns(&running).await?.len(),
            store.find_turns(&expired).await?.len(),
            store.find_turns(&waiting).await?.len(),
        ])
    };
    let steps = [
        (
            Batch::new().put(turn_in("t", TurnState::Running, 1)?),
            [1, 1, 0],
        ),
        (Batch::new().put(lease_of(Some("t"), 100)?), [1, 0, 0]),
        (Batch::new().put(lease_of(Some("t"), 50)?), [1, 1, 0]),
        (Batch::new().put(gate_of("g", "t", true)?), [1, 1, 1]),
        (Batch::new().put(gate_of("g", "t", false)?), [1, 1, 0]),
        (Batch::new().put(gate_of("h", "t", true)?), [1, 1, 1]),
        (Batch::new().delete(RecordKind::Gate, "h"), [1, 1, 0]),
        (Batch::new().put(lease_of(Some("t"), 100)?), [1, 0, 0]),
        (Batch::new().delete(RecordKind::Lease, Lease::ID), [1, 1, 0]),
        (
            Batch::new().put(turn_in("t", TurnState::Answered, 1)?),
            [0, 0, 0],
        ),
        (
            Batch::new().put(turn_in("t", TurnState::Running, 1)?),
            [1, 1, 0],
        ),
        (Batch::new().delete(RecordKind::Turn, "t"), [0, 0, 0]),
    ];
    for (batch, promised) in steps {
        let what = format!("turns after {:?}", batch.changes);
        store.apply(&conversation_id, batch).await?;
        same(&what, counts().await?, promised)?;
    }
    Ok(())
}
