//! Situations that random scripts rarely produce, one test each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use turnwright_core::event::EventKind;
use turnwright_core::gate::GateEnd;
use turnwright_core::gate::TurnGate;
use turnwright_core::record::Record;
use turnwright_core::record::{CallState, ToolResults};
use turnwright_core::store::ConversationId;
use turnwright_core::store::StoreExt as _;
use turnwright_core::tool::approval::always;
use turnwright_core::tool::approval::{ApprovalRequest, GateAnswer};
use turnwright_core::{
    Cancellation, DispatchContext, Next, Tool, ToolContext, ToolRegistry, TurnContext, TurnInput,
    TurnStatus,
};
use turnwright_testkit::store::storage_of;

use super::play::poll_times;
use super::script::{Fault, Pace, StoreScript};
use super::watched_store::Watched;
use crate::turn::opened;

fn counting(runs: &Arc<AtomicUsize>) -> Tool {
    let runs = Arc::clone(runs);
    Tool::dynamic("count", json!({ "type": "object" }))
        .description("Counts.")
        .handler(move |_: Value, _: ToolContext| {
            runs.fetch_add(1, Ordering::SeqCst);
            async { "counted" }
        })
        .build()
        .unwrap()
}

fn store(pace: Pace, fault: Option<(Fault, usize)>) -> Watched {
    Watched::store(StoreScript { pace, fault })
}

#[tokio::test(start_paused = true)]
async fn a_call_cancelled_while_it_is_recorded_does_not_start() {
    let runs = Arc::new(AtomicUsize::new(0));
    let (slow, conversation_id) = (store(Pace::Sleeps(5), None), ConversationId::new("talk"));
    let cancellation = Cancellation::new();
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([counting(&runs)]).unwrap())
        .storage(storage_of(slow.clone()))
        .conversation(conversation_id.as_str())
        .cancellation(cancellation.clone())
        .build();
    let reported = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reported);
    ctx.turn().events().observe(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let call = async { ctx.call("count", "{}").await };
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        cancellation.cancel();
    };
    let (record, ()) = tokio::join!(call, cancel);
    assert!(matches!(record.results(), ToolResults::Refusal(_)));
    let ran = (runs.load(Ordering::SeqCst), reported.load(Ordering::SeqCst));
    assert_eq!(
        ran,
        (0, 2),
        "runs, and the events of the refusal and of the record"
    );
    let stored = slow.records(&conversation_id).await.unwrap();
    let states: Vec<CallState> = stored
        .iter()
        .filter_map(|record| match record {
            Record::Ledger(entry) => Some(entry.state),
            _ => None,
        })
        .collect();
    assert_eq!(states, [CallState::Failed]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_cancelled_at_a_gate_is_aborted_and_not_failed() {
    let waits = |ctx: TurnContext, next: Next<TurnContext>| async move {
        let gate = TurnGate::new("question").build()?;
        ctx.wait_for(gate).await?;
        next.run().await
    };
    let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
        ctx.answer("done").await?;
        Ok(())
    })
    .turn_input(waits)
    .build()
    .unwrap();
    let token = Cancellation::new();
    let input = TurnInput::new("go").cancellation(token.clone());
    let turn = runner.start(input);
    let gates = turn.gates();
    assert_eq!(opened(&gates).await.len(), 1);
    token.cancel();
    let ended = turn.outcome().await.status;
    assert!(matches!(ended, TurnStatus::Aborted { .. }), "{ended:?}");
    assert!(gates.open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_approver_keeps_its_timeout_after_the_last_gates_handle_is_dropped() {
    for answers_after in [Some(20), None] {
        let runs = Arc::new(AtomicUsize::new(0));
        let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
            ctx.call("count", "{}").await;
            ctx.ack()?;
            Ok(())
        })
        .tool(counting(&runs))
        .policy(always("it counts"))
        .approver(move |_: ApprovalRequest| async move {
            match answers_after {
                Some(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                None => std::future::pending().await,
            }
            GateAnswer::approve()
        })
        .approval_timeout(Duration::from_millis(50))
        .build()
        .unwrap();
        let closed = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&closed);
        runner.observe(move |event| {
            if let EventKind::GateClosed { how, .. } = &event.kind {
                seen.lock().push(*how);
            }
        });
        let turn = runner.start("go");
        let gates = turn.gates();
        drop(opened(&gates).await);
        drop(gates);
        // Awaiting the outcome drops the turn's own gates handle, so no handle is left.
        let start = tokio::time::Instant::now();
        let outcome = tokio::time::timeout(Duration::from_secs(60), turn.outcome()).await;
        assert!(outcome.is_ok_and(|outcome| outcome.is_answered()));
        let expected = answers_after.unwrap_or(50);
        assert_eq!(start.elapsed(), Duration::from_millis(expected));
        let granted = answers_after.is_some();
        assert_eq!(runs.load(Ordering::SeqCst), usize::from(granted));
        let how = if granted {
            GateEnd::Resolved
        } else {
            GateEnd::TimedOut
        };
        assert_eq!(*closed.lock(), [how]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_piece_whose_push_is_dropped_is_complete_in_stream_and_text() {
    let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
        let mut message = ctx.reporter().message();
        let dropped = poll_times(message.push("two "), 1).await;
        assert!(dropped.is_none(), "it yields to the reader");
        message.push("one ").await;
        message.push("three").await;
        message.finish().await?;
        ctx.ack()?;
        Ok(())
    })
    .stream_capacity(1)
    .build()
    .unwrap();
    let mut turn = runner.start("go");
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut heard = String::new();
    while let Some(event) = turn.next().await {
        if let EventKind::MessageDelta(delta) = event.kind {
            assert_eq!(delta.offset, heard.len());
            heard.push_str(&delta.text);
        }
    }
    assert_eq!(heard, "two one three");
    assert_eq!(turn.outcome().await.text, heard);
}

#[tokio::test(start_paused = true)]
async fn a_panicking_store_has_failed_at_any_batch() {
    for pace in [Pace::AtOnce, Pace::Yields(1)] {
        // The message is the first batch, the start of the call the second, its end the third.
        for at in 1..=3 {
            let runs = Arc::new(AtomicUsize::new(0));
            let store = store(pace, Some((Fault::Panics, at)));
            let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
                ctx.call("count", "{}").await;
                ctx.ack()?;
                Ok(())
            })
            .tool(counting(&runs))
            .storage(storage_of(store))
            .build()
            .unwrap();
            let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
            let code = outcome.error().map(|error| error.code().as_str());
            assert_eq!(code, Some("E_STORE_ERROR"), "{pace:?}, batch {at}");
            assert_eq!(runs.load(Ordering::SeqCst), usize::from(at == 3));
        }
    }
}

/// On two threads, the last gates handle is dropped while the turn reaches a gate. Whichever is first, the turn ends.
#[test]
fn a_turn_does_not_wait_at_a_gate_without_handles() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let waits = |ctx: TurnContext, next: Next<TurnContext>| async move {
        let gate = TurnGate::new("question").build()?;
        drop(ctx.wait_for(gate).await);
        next.run().await
    };
    let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
        ctx.answer("done").await?;
        Ok(())
    })
    .turn_input(waits)
    .build()
    .unwrap();
    runtime.block_on(async {
        for _ in 0..2_000 {
            let outcome = runner.start("go").outcome();
            let outcome = tokio::time::timeout(Duration::from_secs(60), outcome).await;
            assert!(outcome.is_ok_and(|outcome| outcome.is_answered()));
        }
    });
}
