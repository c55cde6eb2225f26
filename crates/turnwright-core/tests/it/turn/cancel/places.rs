//! The places where a turn may wait when it is cancelled.

use super::*;
use turnwright_core::gate::TurnGate;

#[tokio::test(start_paused = true)]
async fn a_turn_is_cancelled_in_its_input_middleware() {
    for way in WAYS {
        let scene = Scene::new([], |builder, reached, _, _| {
            let reached = Arc::clone(reached);
            builder.turn_input(move |_: TurnContext, _: Next<TurnContext>| {
                reached.notify_one();
                std::future::pending()
            })
        });
        let outcome = scene.call_off(way).await;
        scene.assert_clean(way, outcome.as_ref()).await;
        assert_eq!(scene.observed.of("dispatchStart").len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_cancelled_in_its_dispatch_middleware() {
    for way in WAYS {
        for output in [false, true] {
            let scene = Scene::new([Step::silent().keep_open()], |builder, reached, _, _| {
                let reached = Arc::clone(reached);
                let waits = move |_: DispatchContext, _: Next<DispatchContext>| {
                    reached.notify_one();
                    std::future::pending()
                };
                if output {
                    builder.dispatch_output(waits)
                } else {
                    builder.dispatch_input(waits)
                }
            });
            let outcome = scene.call_off(way).await;
            scene.assert_clean(way, outcome.as_ref()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_request_is_cancelled() {
    struct Dropped(Notes);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.note("the request was dropped");
        }
    }
    for way in WAYS {
        let (notes, begun) = (Notes::default(), Arc::new(Notify::new()));
        let (dropped, reached) = (Dropped(notes.clone()), Arc::clone(&begun));
        let step = Step::say("half an answer").then_run(move |_| async move {
            let _request = dropped;
            reached.notify_one();
            std::future::pending().await
        });
        let mut scene = Scene::new([step], |builder, _, _, _| builder);
        scene.reached = begun;
        let outcome = scene.call_off(way).await;
        scene.assert_clean(way, outcome.as_ref()).await;
        assert_eq!(notes.all(), ["the request was dropped"]);
        if let Some(outcome) = outcome {
            assert_eq!(
                outcome.text, "half an answer",
                "what was said and stored stays"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_cancelled_at_a_gate() {
    for way in WAYS {
        if way == Way::DropRun {
            // No one can answer there.
            continue;
        }
        for in_handler in [false, true] {
            let gate = TurnGate::new("ask").build().unwrap();
            let (notes, at) = (Notes::default(), gate.clone());
            let seen = notes.clone();
            let scene = Scene::new([Step::call_tool("ask", "{}")], |builder, reached, _, _| {
                let (reached, handler) = (Arc::clone(reached), Arc::clone(reached));
                let middleware = move |ctx: TurnContext, next: Next<TurnContext>| {
                    let (gate, notes) = (at.clone(), seen.clone());
                    reached.notify_one();
                    async move {
                        if let Err(error) = ctx.wait_for(gate).await {
                            notes.note(error.code().as_str());
                            return Err(error.into());
                        }
                        next.run().await
                    }
                };
                let ask = tool("ask").handler(move |_: Value, ctx: ToolContext| {
                    handler.notify_one();
                    let gate = gate.clone();
                    async move { Ok::<_, ToolError>(ctx.wait_for(gate).await?.to_string()) }
                });
                if in_handler {
                    builder.tool(ask.build())
                } else {
                    builder.turn_input(middleware)
                }
            });
            let outcome = scene.call_off(way).await;
            scene.assert_clean(way, outcome.as_ref()).await;
            if in_handler {
                assert_eq!(ledger(&*scene.store, "c").await.len(), 1);
            } else {
                assert_eq!(notes.all(), ["E_TURN_GATE_ABORTED"], "{way:?}");
            }
            assert_eq!(scene.observed.of("turnGateClosed")[0]["how"], "aborted");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_to_the_store_is_completed() {
    // The message of the user, that of the model, the started call, the settled call.
    for at in 0..4 {
        for way in WAYS {
            if at == 0 && way == Way::Inside {
                // The write has not started yet.
                continue;
            }
            let step = Step::say("Let me.").call("act", "{}");
            let scene = Scene::new([step], |builder, reached, go, store| {
                let mut odd = Odd::store(at, How::Waits(Arc::clone(reached), Arc::clone(go)));
                odd.store = Arc::clone(store);
                builder
                    .storage(storage_of(odd))
                    .tool(returning("act", "acted"))
            });
            let outcome = scene.call_off(way).await;
            scene.assert_clean(way, outcome.as_ref()).await;
            let held = scene
                .store
                .records(&ConversationId::new("c"))
                .await
                .unwrap();
            assert!(held.len() > at.min(2), "write {at} {way:?}: {held:?}");
            match at {
                2 => assert_eq!(scene.texts().await, [NOT_RUN], "{way:?}"),
                3 => assert_eq!(
                    scene.texts().await,
                    ["acted"],
                    "{way:?}: what was done was done"
                ),
                _ => assert_eq!(scene.texts().await, [""; 0]),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_with_a_slow_reader_is_cancelled() {
    for way in WAYS {
        if way == Way::DropRun {
            // The stream is not read.
            continue;
        }
        let begun = Arc::new(Notify::new());
        let reached = Arc::clone(&begun);
        let step = Step::run(move |ctx| async move {
            let mut message = ctx.reporter().message();
            message.push("one").await;
            reached.notify_one();
            message.push("two").await;
            std::future::pending().await
        });
        let mut scene = Scene::new([step], |builder, _, _, _| builder.stream_capacity(1));
        scene.reached = begun;
        let outcome = scene.call_off(way).await;
        scene.assert_clean(way, outcome.as_ref()).await;
    }
}
