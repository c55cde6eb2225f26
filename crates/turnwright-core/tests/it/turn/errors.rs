//! The error codes of the loop: where each occurs, and whether it is a programming error.

use std::sync::Arc;
use std::time::Duration;
use turnwright_core::ToolCall;
use turnwright_core::artifact::ArtifactKind;
use turnwright_core::artifact::Inline;
use turnwright_core::artifact::SpooledArtifact;
use turnwright_core::gate::TurnGate;
use turnwright_core::runner::Limit;
use turnwright_core::trust::TrustTier;

use futures_util::FutureExt as _;
use turnwright_core::record::Retrievable;
use turnwright_core::spool::MemoryReader;

use super::*;

#[test]
fn an_invalid_runner_reports_every_invalid_field() {
    let error = runner(ScriptedModel::new([]))
        .iteration_limit(0)
        .parallel_calls(0)
        .stream_capacity(0)
        .approval_timeout(Duration::ZERO)
        .budget(Budget::new().time(Duration::ZERO))
        .build()
        .unwrap_err();
    assert_eq!(error.code().as_str(), "E_INVALID_TURN_RUNNER_CONFIG");
    assert!(error.is_fatal());
    for field in [
        "iteration_limit",
        "parallel_calls",
        "stream_capacity",
        "approval_timeout",
        "budget.time",
    ] {
        assert!(error.message().contains(field), "{field}: {error}");
    }
}

#[test]
fn invalid_or_colliding_tools_fail_the_build_of_a_runner() {
    let wrong = tool("has spaces")
        .handler(|_: Value, _: ToolContext| async { "" })
        .build();
    let error = runner(ScriptedModel::new([]))
        .tool(wrong)
        .build()
        .unwrap_err();
    assert_eq!(error.code().as_str(), "E_INVALID_INITIAL_TOOL_VALUE");
    let twice = [returning("same", ""), returning("same", "")];
    let error = runner(ScriptedModel::new([]))
        .tools(twice)
        .build()
        .unwrap_err();
    assert_eq!(error.code().as_str(), "E_TOOL_ALREADY_REGISTERED");
    assert!(error.is_fatal() && error.message().contains("`same`"));
    // The advice must be applicable: a builder and an input have no such method.
    assert!(!error.message().contains("register_overwriting"), "{error}");
    assert!(
        error.message().contains("Rename or remove one of them"),
        "{error}"
    );
    let registry = ToolRegistry::new([returning("same", "")]).unwrap();
    let error = registry.register(returning("same", "")).unwrap_err();
    assert!(
        error
            .message()
            .contains("`ToolRegistry::register_overwriting`")
    );
}

#[tokio::test]
async fn missing_state_names_its_type_for_operators_only() {
    struct Database;
    let query = tool("query").handler(|_: Value, ctx: ToolContext| async move {
        ctx.state::<Database>()?;
        Ok::<_, ToolError>("found")
    });
    let observed = Observed::default();
    let model = ScriptedModel::new([Step::call_tool("query", "{}"), Step::say("done")]);
    let runner = runner(model)
        .tool(query.build())
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    let call = outcome.tool_calls().next().unwrap();
    assert_eq!(
        call.text().await.as_deref(),
        Some("The tool is misconfigured. Do not call it again.")
    );
    let ended = &observed.of("toolExecutionEnd")[0];
    let message = ended["message"].as_str().unwrap();
    for part in ["E_MISSING_STATE", "::Database", ".state(value)"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    // Outside of a tool it is the error itself.
    let error = DispatchContext::standalone()
        .state::<Database>()
        .err()
        .unwrap();
    assert_eq!(
        (error.code(), error.is_fatal()),
        (ErrorCode::MISSING_STATE, true)
    );
}

/// A model reads the text of a code while its own turn is running: as the result of a tool, such as a sub-agent.
#[test]
fn no_text_of_a_code_says_that_the_turn_is_over() {
    for code in ErrorCode::ALL {
        let text = code.model_text();
        assert!(!text.contains("The turn"), "{code}: {text}");
    }
}

#[tokio::test]
async fn a_failed_sub_agent_does_not_tell_the_outer_model_that_its_turn_failed() {
    for limited in [false, true] {
        let inner = runner(move |ctx: DispatchContext| async move {
            if limited {
                ctx.turn().end_at_limit(Limit::Iterations(1));
                return Ok(());
            }
            Err("no".into())
        });
        let inner = inner.build().unwrap();
        let delegate = tool("delegate").handler(move |_: Value, ctx: ToolContext| {
            let turn = inner.start(TurnInput::new("go").under_call(&ctx));
            async move { Ok::<_, ToolError>(turn.await.into_answer()?) }
        });
        let model = ScriptedModel::new([Step::call_tool("delegate", "{}"), Step::say("done")]);
        let runner = runner(model).tool(delegate.build());
        let outcome = runner.build().unwrap().run("go").await;
        let expected = if limited {
            "The task reached a limit before it was completed."
        } else {
            "The task could not be completed."
        };
        assert_eq!(texts(&outcome).await, [expected]);
    }
}

#[tokio::test]
async fn the_outcome_of_a_turn_that_cannot_start_has_the_reason() {
    let observed = Observed::default();
    let runner = runner(ScriptedModel::new([]))
        .tool(returning("same", ""))
        .observer(observed.observer())
        .build()
        .unwrap();
    for (input, code) in [
        (
            TurnInput::new("x").conversation(""),
            "E_INVALID_TURN_CONTEXT",
        ),
        (TurnInput::new("x").turn_id(""), "E_INVALID_TURN_CONTEXT"),
        (TurnInput::new(""), "E_INVALID_INITIAL_MESSAGE_VALUE"),
        (TurnInput::new("x").stash("a..b", 1), "E_INVALID_STASH_PATH"),
        (
            TurnInput::new("x").tool(returning("same", "")),
            "E_TOOL_ALREADY_REGISTERED",
        ),
    ] {
        let outcome = runner.run(input).await;
        assert_eq!(code_of(&outcome), code);
        let error = error_of(&outcome);
        assert!(error.is_fatal(), "{code}");
        if error.code() == ErrorCode::TOOL_ALREADY_REGISTERED {
            let message = error.message();
            assert!(message.contains("Rename the input's tool"), "{message}");
            assert!(message.contains("`ctx.tools().register_overwriting(tool)`"));
        }
        assert!(outcome.records.is_empty());
    }
    let names = observed.names();
    assert_eq!(names, ["turnStart", "turnEnd"].repeat(5));
}

#[test]
fn a_turn_outside_of_a_runtime_fails_with_advice() {
    let runner = runner(ScriptedModel::new([])).build().unwrap();
    let outcome = runner
        .start("go")
        .outcome()
        .now_or_never()
        .expect("it ended at once");
    assert_eq!(code_of(&outcome), "E_INVALID_TURN_CONTEXT");
    assert!(error_of(&outcome).message().contains("tokio runtime"));
}

#[test]
fn an_invalid_gate_reports_every_invalid_field() {
    let schema = json!({ "type": "object", "minLenght": 1 });
    let error = TurnGate::new(" ")
        .schema(schema)
        .timeout(Duration::ZERO)
        .build()
        .unwrap_err();
    assert_eq!(error.code().as_str(), "E_INVALID_INITIAL_TURN_GATE_VALUE");
    assert!(error.is_fatal());
    for field in ["kind", "schema", "timeout"] {
        assert!(error.message().contains(field), "{field}: {error}");
    }
}

#[test]
fn codes_of_programming_errors_are_fatal() {
    let is_fatal = |code: &str| {
        let found = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
        found
            .unwrap_or_else(|| panic!("there is no {code}"))
            .is_fatal()
    };
    for code in [
        "E_INVALID_INITIAL_TURN_GATE_VALUE",
        "E_INVALID_TURN_RUNNER_CONFIG",
        "E_INVALID_STORAGE",
        "E_INVALID_TURN_CONTEXT",
        "E_INVALID_TURN_GATE_RESOLUTION",
        "E_LLM_EXECUTION_ALREADY_SIGNALLED",
        "E_TOOL_ALREADY_REGISTERED",
    ] {
        assert!(is_fatal(code), "{code}");
    }
    for code in [
        "E_INPUT_PIPELINE_ERROR",
        "E_OUTPUT_PIPELINE_ERROR",
        "E_DISPATCH_PIPELINE_ERROR",
        "E_PIPELINE_SHORT_CIRCUITED",
        "E_LLM_EXECUTION_EXECUTOR_ERROR",
        "E_LLM_EXECUTION_GATE_NOT_SUPPORTED",
        "E_TURN_GATE_TIMEOUT",
        "E_TURN_GATE_ABORTED",
        "E_ARTIFACT_ID_COLLISION",
        "E_STORE_ERROR",
        "E_INVALID_TOOL_ARGS",
        "E_TOOL_DOWNSTREAM_ERROR",
    ] {
        assert!(!is_fatal(code), "{code}");
    }
}

#[tokio::test]
async fn an_id_shared_by_a_call_and_a_retrievable_fails_the_turn() {
    let clash = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        if let Some(call) = ctx.records().all::<ToolCall>().first() {
            let reader = Arc::new(MemoryReader::new("other content"));
            let artifact = SpooledArtifact::new(reader, ArtifactKind::TEXT);
            let found = Retrievable::artifact(artifact, TrustTier::FirstParty);
            ctx.records().add(found.id(call.id()).build()?);
        }
        next.run().await
    };
    let log = tool("log")
        .inline(Inline::Never)
        .handler(|_: Value, _: ToolContext| async { "long" })
        .build();
    let model = ScriptedModel::new([Step::call_tool("log", "{}"), Step::say("x")]);
    let runner = runner(model.clone())
        .tool(log)
        .dispatch_output(clash)
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert_eq!(code_of(&outcome), "E_ARTIFACT_ID_COLLISION");
    assert!(!error_of(&outcome).is_fatal());
    assert_eq!(
        model.unplayed(),
        [1],
        "the iteration ended where its artifact tools were built"
    );
}

#[tokio::test]
async fn a_store_that_fails_or_panics_fails_the_turn_wherever_it_writes() {
    // The message of the user, that of the model, the started call, the settled call.
    for at in 0..4 {
        for how in [How::Fails, How::Panics] {
            let (observed, notes) = (Observed::default(), Notes::default());
            let ran = notes.clone();
            let act = tool("act").handler(move |_: Value, _: ToolContext| {
                ran.note("ran");
                async { "acted" }
            });
            let model =
                ScriptedModel::new([Step::say("Let me.").call("act", "{}"), Step::say("done")]);
            let runner = runner(model.clone())
                .storage(storage_of(Odd::store(at, how)))
                .tool(act.build())
                .observer(observed.observer())
                .build()
                .unwrap();
            let outcome = runner.run(stored("go")).await;
            let error = error_of(&outcome);
            assert_eq!(error.code(), ErrorCode::STORE_ERROR, "write {at}: {error}");
            assert!(!error.is_fatal());
            assert_eq!(
                notes.has("ran"),
                at == 3,
                "write {at}: a call that is not on record does not run"
            );
            assert!(model.request_count() <= 1);
            observed.assert_paired();
        }
    }
}
