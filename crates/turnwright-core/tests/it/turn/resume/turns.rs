//! Which turns can be resumed, and with what.

use super::*;
use turnwright_core::Usage;

#[tokio::test]
async fn a_failed_turn_continues_and_repeats_nothing() {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::call_tool("pay", "{}").usage(Usage::tokens(10, 1)),
        Step::fail("out of reach"),
        Step::say("All is well.").usage(Usage::tokens(20, 2)),
    ]);
    let pay = world.acting("pay").build();
    let runner = world.runner(&model).tool(pay).build().unwrap();
    let failed = runner.run(go_input().stash("user.name", "Ada")).await;
    assert!(!failed.is_answered());
    assert_eq!(world.state().await, ("failed", 1));
    let observed = Observed::default();
    let input = TurnInput::resume(TURN).observer(observed.observer());
    let outcome = runner.resume(input).await.unwrap().await;
    assert_eq!(outcome.text, "All is well.");
    assert_eq!(world.runs.all().len(), 1);
    assert_eq!(outcome.usage.input_tokens, 30);
    // The turn has everything that it stored, from its start on.
    let kinds: Vec<&str> = outcome
        .records
        .iter()
        .map(|record| record.kind().as_str())
        .collect();
    assert_eq!(kinds, ["message", "tool_call", "message"]);
    assert_eq!(observed.of("turnStart")[0]["resumed"], true);
    observed.assert_paired();
    assert_eq!(world.state().await, ("answered", 2));
    let turns = world.store.turns(&ConversationId::new(TALK)).await.unwrap();
    assert_eq!(turns[0].error, None);
    assert_eq!(turns[0].usage.input_tokens, 30);
}

#[tokio::test]
async fn the_initial_stash_is_restored() {
    let world = World::default();
    let seen = Notes::default();
    let note = {
        let seen = seen.clone();
        move |ctx: &DispatchContext| {
            let of = |path: &str| ctx.stash().get(path).unwrap_or_default();
            seen.note(format!("{} {}", of("user.name"), of("lang")));
        }
    };
    let (one, two) = (note.clone(), note);
    let model = ScriptedModel::new([
        Step::run(move |ctx: DispatchContext| {
            one(&ctx);
            async { Err("out of reach".into()) }
        }),
        Step::run(move |ctx: DispatchContext| {
            two(&ctx);
            async move { ctx.answer("yes").await.map(drop).map_err(Into::into) }
        }),
    ]);
    let runner = world.runner(&model).build().unwrap();
    let input = go_input().stash("user.name", "Ada").stash("lang", "en");
    runner.run(input).await;
    let input = TurnInput::resume(TURN).stash("lang", "de");
    let outcome = runner.resume(input).await.unwrap().await;
    assert!(outcome.is_answered());
    assert_eq!(seen.all(), ["\"Ada\" \"en\"", "\"Ada\" \"de\""]);
}

#[tokio::test]
async fn an_answered_turn_returns_its_answer_and_runs_nothing() {
    let world = World::default();
    let model = ScriptedModel::new([Step::call_tool("pay", "{}"), Step::say("Paid.")]);
    let pay = world.acting("pay").build();
    let layers = Notes::default();
    let runner = world.runner(&model).tool(pay);
    let runner = runner.turn_input(layers.layer("input")).build().unwrap();
    let first = runner.run(go_input()).await;
    // The conversation may have continued since.
    model.push(Step::say("And now?"));
    runner.run(TurnInput::new("more").conversation(TALK)).await;
    let seen = layers.all().len();
    let again = runner.resume(TURN).await.unwrap().await;
    assert!(again.is_answered());
    assert_eq!(again.text, "Paid.");
    let ids = |outcome: &TurnOutcome| -> Vec<String> {
        outcome
            .records
            .iter()
            .map(|record| record.id().to_owned())
            .collect()
    };
    assert_eq!(ids(&again), ids(&first));
    assert_eq!(model.request_count(), 3);
    assert_eq!(world.runs.all().len(), 1);
    assert_eq!(layers.all().len(), seen);
}

#[test]
fn a_stored_answer_counts_even_if_the_process_died_before_the_end() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let dies = {
        let reached = Arc::clone(&reached);
        move |_: TurnContext, _: Next<TurnContext>| {
            reached.notify_one();
            std::future::pending::<Result<(), BoxError>>()
        }
    };
    let model = answers();
    let first = world.runner(&model).turn_output(dies).build().unwrap();
    world.die(&first, &reached);
    process().block_on(async {
        assert_eq!(world.state().await, ("running", 1));
        let model = ScriptedModel::new([]);
        let layers = Notes::default();
        let second = world.runner(&model).turn_output(layers.layer("output"));
        let outcome = second.build().unwrap().resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered(), "{:?}", outcome.status);
        assert_eq!(outcome.text, "All is well.");
        assert_eq!(model.request_count(), 0);
        assert_eq!(layers.all(), ["output in", "output out"]);
        assert_eq!(world.state().await, ("answered", 2));
    });
}

#[test]
fn a_message_whose_calls_were_lost_is_not_the_end_of_the_prompt() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let dies = {
        let reached = Arc::clone(&reached);
        Step::think("hm")
            .then_say("Let me see.")
            .then_run(move |_: DispatchContext| {
                reached.notify_one();
                std::future::pending::<Result<(), BoxError>>()
            })
    };
    let model = ScriptedModel::new([dies]);
    world.die(&world.runner(&model).build().unwrap(), &reached);
    process().block_on(async {
        let model = answers();
        let second = world.runner(&model).build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        assert_eq!(outcome.text, "All is well.");
        let shown = model.request(0);
        let words = shown.texts();
        assert_eq!(words[..2], ["go", "Let me see."]);
        assert!(words[2].contains("Continue from here"), "{words:?}");
        assert_eq!(words.len(), 3);
    });
}

#[tokio::test]
async fn a_cancelled_or_limited_turn_can_be_resumed() {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::call_tool("pay", "{}"),
        Step::call_tool("pay", "{}"),
        Step::say("All is well."),
    ]);
    let pay = world.acting("pay").build();
    let runner = world.runner(&model).tool(pay).iteration_limit(1).build();
    let runner = runner.unwrap();
    assert_eq!(runner.run(go_input()).await.status.as_str(), "limit");
    assert_eq!(world.state().await, ("limit", 1));
    let token = Cancellation::new();
    token.cancel();
    let input = TurnInput::resume(TURN).cancellation(token);
    let ended = runner.resume(input).await.unwrap().await.status;
    assert_eq!(ended.as_str(), "aborted");
    assert_eq!(world.state().await, ("aborted", 2));
    let ended = runner.resume(TURN).await.unwrap().await.status;
    assert_eq!(ended.as_str(), "limit");
    let outcome = runner.resume(TURN).await.unwrap().await;
    assert_eq!(outcome.text, "All is well.");
    assert_eq!(world.runs.all().len(), 2);
}

#[tokio::test]
async fn a_turn_is_not_resumed_after_the_conversation_continued() {
    let world = World::default();
    let model = ScriptedModel::new([Step::fail("out of reach"), Step::say("Hello.")]);
    let runner = world.runner(&model).build().unwrap();
    runner.run(go_input()).await;
    runner.run(TurnInput::new("hello").conversation(TALK)).await;
    let outcome = runner.resume(TURN).await.unwrap().await;
    assert_eq!(code_of(&outcome), "E_TURN_NOT_RESUMABLE");
    assert!(
        error_of(&outcome)
            .message()
            .contains("has continued without it")
    );
    assert_eq!(world.state().await, ("failed", 1));
}

#[tokio::test]
async fn a_nacked_turn_has_ended() {
    let world = World::default();
    let model = ScriptedModel::new([Step::nack("no")]);
    let runner = world.runner(&model).build().unwrap();
    runner.run(go_input()).await;
    let outcome = runner.resume(TURN).await.unwrap().await;
    assert_eq!(code_of(&outcome), "E_TURN_NOT_RESUMABLE");
    assert_eq!(world.state().await, ("nacked", 1));
}

#[tokio::test]
async fn an_unknown_or_ambiguous_turn_id_is_an_error() {
    let world = World::default();
    let model = ScriptedModel::new([Step::fail("a"), Step::fail("b"), Step::say("I am b.")]);
    let runner = world.runner(&model).build().unwrap();
    let unknown = runner.resume(TURN).await.unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::UNKNOWN_TURN);
    for talk in ["a", "b"] {
        let input = TurnInput::new("go").conversation(talk).turn_id(TURN);
        runner.run(input).await;
    }
    let several = runner.resume(TURN).await.unwrap_err();
    assert_eq!(several.code(), ErrorCode::UNKNOWN_TURN);
    assert!(several.message().contains("2 conversations"), "{several}");
    let named = TurnInput::resume(TURN).conversation("b");
    let outcome = runner.resume(named).await.unwrap().await;
    assert_eq!((&*outcome.text, &*outcome.conversation), ("I am b.", "b"));
    for (talk, turn) in [("nowhere", TURN), ("a", "turn-2")] {
        let named = TurnInput::resume(turn).conversation(talk);
        let unknown = runner.resume(named).await.unwrap_err();
        assert_eq!(unknown.code(), ErrorCode::UNKNOWN_TURN);
        assert!(unknown.message().contains(turn), "{unknown}");
        let named = TurnInput::resume(turn).conversation(talk);
        let unknown = runner.resume(named.answer::<String>()).await;
        assert_eq!(unknown.unwrap_err().code(), ErrorCode::UNKNOWN_TURN);
    }
    let speaks = runner.resume(TurnInput::new("more").turn_id(TURN)).await;
    assert_eq!(speaks.unwrap_err().code(), ErrorCode::INVALID_TURN_CONTEXT);
    let begins = TurnInput::empty().turn_id(TURN).conversation("b");
    let begins = runner.resume(begins).await.unwrap_err();
    assert_eq!(begins.code(), ErrorCode::INVALID_TURN_CONTEXT);
    // With a conversation, every way to run a turn resumes it.
    let named = TurnInput::resume(TURN).conversation("b");
    assert_eq!(runner.run(named).await.text, "I am b.");
    let unnamed = runner.run(TurnInput::resume(TURN)).await;
    let error = unnamed.error().unwrap();
    assert_eq!(error.code(), ErrorCode::UNKNOWN_TURN);
    assert!(
        error.message().contains("`TurnInput::conversation`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_resumed_turn_has_its_history() {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::say("Hello, Ada."),
        Step::fail("out of reach"),
        Step::say("You are Ada."),
    ]);
    let runner = world.runner(&model).build().unwrap();
    let mut chat = runner.conversation(TALK);
    chat.say("I am Ada.").await;
    let failed = chat.say("Who am I?").await;
    let outcome = chat.resume(failed.turn_id).await.unwrap().await;
    assert_eq!(outcome.text, "You are Ada.");
    let words = ["I am Ada.", "Hello, Ada.", "Who am I?"];
    assert_eq!(model.request(2).texts(), words);
}

#[tokio::test]
async fn a_stored_typed_answer_is_checked_and_requested_again_if_invalid() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Count {
        n: u32,
    }
    let world = World::default();
    let model = ScriptedModel::new([
        Step::say("three"),
        Step::fail("out of reach"),
        Step::say(r#"{"n": 3}"#),
    ]);
    let runner = world.runner(&model).build().unwrap();
    let failed = runner.ask::<Count>(go_input()).await;
    assert!(failed.is_err());
    let again = runner.resume(TurnInput::resume(TURN).answer::<Count>());
    let outcome = again.await.unwrap().await;
    assert_eq!(outcome.answer::<Count>().unwrap().n, 3);
    assert_eq!(model.request_count(), 3);
}

#[tokio::test]
async fn a_turn_id_can_be_used_once_per_conversation() {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::call_tool("pay", "{}"),
        Step::fail("out of reach"),
        Step::say("All is well."),
    ]);
    let pay = world.acting("pay").build();
    let runner = world.runner(&model).tool(pay).build().unwrap();
    assert!(!runner.run(go_input()).await.is_answered());
    let before = world.conversation_id().await.len();
    // The same request is sent again.
    let outcome = runner.run(go_input()).await;
    assert_eq!(code_of(&outcome), "E_TURN_EXISTS");
    let error = error_of(&outcome);
    assert!(error.message().contains("which is failed"), "{error}");
    assert_eq!(
        world.conversation_id().await.len(),
        before,
        "something was written"
    );
    assert!(runner.resume(TURN).await.unwrap().await.is_answered());
    assert_eq!(code_of(&runner.run(go_input()).await), "E_TURN_EXISTS");
    assert_eq!(world.runs.all().len(), 1);
    // In another conversation it is another turn.
    model.push(Step::say("Elsewhere."));
    let elsewhere = TurnInput::new("go").conversation("other").turn_id(TURN);
    assert_eq!(runner.run(elsewhere).await.text, "Elsewhere.");
}

/// Names are chosen by users and may contain any character.
#[tokio::test]
async fn idempotency_keys_are_unique() {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::call_tool("pay", "{}"),
        Step::say("a"),
        Step::call_tool("pay", "{}"),
        Step::say("b"),
    ]);
    let pay = world.acting("pay").build();
    let runner = world.runner(&model).tool(pay).build().unwrap();
    for (talk, turn) in [("a/b", "c"), ("a", "b/c")] {
        let input = TurnInput::new("go").conversation(talk).turn_id(turn);
        assert!(runner.run(input).await.is_answered());
    }
    let keys = world.runs.all();
    assert_ne!(keys[0], keys[1]);
}
