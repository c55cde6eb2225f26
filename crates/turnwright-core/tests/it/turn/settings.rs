//! Instructions and model settings of runner and turn.

use turnwright_core::event::EventKind;
use turnwright_core::middleware::tool_filter;
use turnwright_core::record::StandingInstruction;
use turnwright_core::settings::ToolChoice;

use super::*;

fn temperature(value: f64) -> ModelSettings {
    ModelSettings::new().temperature(value)
}

#[tokio::test]
async fn an_executor_reads_the_instructions_and_settings_of_runner_and_turn() {
    let model = ScriptedModel::new([Step::say("One."), Step::say("Two.")]);
    let runner = runner(model.clone())
        .instructions("Be brief.")
        .settings(temperature(0.2).seed(7))
        .build()
        .unwrap();
    runner.run("go").await;
    let input = TurnInput::new("go")
        .instructions("The user is Ada.")
        .settings(temperature(0.9));
    runner.run(input).await;
    let (first, second) = (model.request(0), model.request(1));
    assert_eq!(first.instructions(), Some("Be brief."));
    assert_eq!(second.instructions(), Some("Be brief.\n\nThe user is Ada."));
    assert_eq!(*first.settings(), temperature(0.2).seed(7));
    assert_eq!(*second.settings(), temperature(0.9).seed(7));
}

#[tokio::test]
async fn instructions_are_not_records_and_standing_instructions_are_separate() {
    let model = ScriptedModel::new([Step::say("Yes.")]);
    let adds = |ctx: TurnContext, next: Next<TurnContext>| async move {
        ctx.records()
            .add(StandingInstruction::new("Answer in verse.").build()?);
        next.run().await
    };
    let runner = runner(model.clone())
        .instructions("Be brief.")
        .turn_input(adds);
    let outcome = runner.build().unwrap().run(stored("go")).await;
    assert_eq!(outcome.records.len(), 2, "the message and the answer");
    assert_eq!(model.request(0).instructions(), Some("Be brief."));
    assert_eq!(
        model.request(0).standing_instructions(),
        ["Answer in verse."]
    );
    let system = model.request(0).prompt()[0].to_string();
    assert!(system.starts_with("system: Be brief.\n\n"), "{system}");
}

#[tokio::test]
async fn a_resumed_turn_has_its_own_settings_and_those_of_the_runner_that_resumes_it() {
    let model = ScriptedModel::new([
        Step::fail("out of reach"),
        Step::fail("out of reach"),
        Step::say("Yes."),
    ]);
    let before = runner(model.clone())
        .instructions("Be brief.")
        .build()
        .unwrap();
    let input = stored("go")
        .turn_id("t")
        .instructions("The user is Ada.")
        .settings(temperature(0.9).provider("p", json!({ "key": 1.5 })));
    before.run(input).await;
    before.resume("t").await.unwrap().await;
    // Values passed with the resume replace the stored ones, field by field, and are stored in turn.
    let input = TurnInput::resume("t").settings(ModelSettings::new().seed(3));
    before
        .resume(input)
        .await
        .unwrap()
        .await
        .into_answer()
        .unwrap();
    let expected = temperature(0.9).provider("p", json!({ "key": 1.5 }));
    for n in [0, 1] {
        assert_eq!(
            model.request(n).instructions(),
            Some("Be brief.\n\nThe user is Ada.")
        );
        assert_eq!(*model.request(n).settings(), expected);
    }
    assert_eq!(*model.request(2).settings(), expected.seed(3));
}

#[tokio::test]
async fn middleware_sets_the_settings_of_one_iteration() {
    let model = ScriptedModel::new([Step::silent().keep_open(), Step::say("Yes.")]);
    let first = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        if ctx.iteration() == 1 {
            ctx.override_settings(temperature(1.0))?;
            assert!(ctx.override_settings(temperature(-1.0)).is_err());
        }
        next.run().await
    };
    let runner = runner(model.clone()).settings(temperature(0.2).seed(7));
    let runner = runner.dispatch_input(first).build().unwrap();
    runner.run("go").await.into_answer().unwrap();
    assert_eq!(*model.request(0).settings(), temperature(1.0).seed(7));
    assert_eq!(*model.request(1).settings(), temperature(0.2).seed(7));
}

#[tokio::test]
async fn a_forced_call_is_forced_until_the_first_call() {
    let model = ScriptedModel::new([Step::call_tool("look", "{}"), Step::say("Yes.")]);
    let runner = runner(model.clone())
        .tool(returning("look", "seen"))
        .settings(ModelSettings::new().tool_choice(ToolChoice::Required))
        .build()
        .unwrap();
    runner.run("go").await.into_answer().unwrap();
    let choices = [0, 1].map(|n| model.request(n).settings().tool_choice.clone());
    assert_eq!(
        choices,
        [Some(ToolChoice::Required), Some(ToolChoice::Auto)]
    );
}

#[tokio::test]
async fn a_choice_of_a_tool_that_is_not_offered_becomes_auto_with_one_warning() {
    let steps = || {
        [
            Step::silent().keep_open(),
            Step::silent().keep_open(),
            Step::say("Yes."),
        ]
    };
    let named = |name: &str| ModelSettings::new().tool_choice(ToolChoice::Tool(name.to_owned()));
    for (name, hidden, expected) in [
        ("look", false, ToolChoice::Tool("look".to_owned())),
        ("look", true, ToolChoice::Auto),
        ("gone", false, ToolChoice::Auto),
    ] {
        let model = ScriptedModel::new(steps());
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&warnings);
        let hides = tool_filter(move |_: &Tool| !hidden);
        let runner = runner(model.clone())
            .tool(returning("look", "seen"))
            .dispatch_input(hides)
            .settings(named(name))
            .build()
            .unwrap();
        let input = TurnInput::new("go").observer(move |event: &Event| {
            if let EventKind::Warning { message, .. } = &event.kind {
                heard.lock().push(message.clone());
            }
        });
        runner.run(input).await.into_answer().unwrap();
        for n in 0..3 {
            let shown = model.request(n);
            assert_eq!(shown.settings().tool_choice.as_ref(), Some(&expected));
        }
        let warnings = warnings.lock();
        match expected {
            ToolChoice::Auto => assert_eq!(
                warnings[..],
                [format!(
                    "the tool choice names \"{name}\", which is not among the tools of this request: the model chooses instead"
                )]
            ),
            _ => assert!(warnings.is_empty(), "{warnings:?}"),
        }
    }
}

#[tokio::test]
async fn the_input_of_a_turn_carries_the_name_of_the_user() {
    let runner = runner(|ctx: DispatchContext| async move {
        let input = ctx.input().unwrap();
        ctx.answer(input.name().unwrap()).await?;
        Ok(())
    });
    let runner = runner.build().unwrap();
    let message = Message::user("go").name("Bob").build().unwrap();
    let inputs = [TurnInput::new("go").name("Ada"), message.into()];
    for (input, name) in inputs.into_iter().zip(["Ada", "Bob"]) {
        assert_eq!(runner.run(input).await.into_answer().unwrap(), name);
    }
    let outcome = runner.run(TurnInput::new("go").name(" ")).await;
    assert_eq!(code_of(&outcome), "E_INVALID_INITIAL_MESSAGE_VALUE");
}

#[tokio::test]
async fn invalid_settings_are_errors_before_anything_runs() {
    let model = ScriptedModel::new([]);
    let error = runner(model.clone())
        .settings(temperature(3.0))
        .build()
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_TURN_RUNNER_CONFIG);
    assert!(
        error
            .message()
            .contains("settings.temperature: must be from 0 to 2 (got 3)"),
        "{error}"
    );
    let runner = runner(model.clone()).build().unwrap();
    let outcome = runner
        .run(TurnInput::new("go").settings(temperature(3.0)))
        .await;
    assert_eq!(code_of(&outcome), "E_INVALID_TURN_CONTEXT");
    assert_eq!(model.request_count(), 0);
}
