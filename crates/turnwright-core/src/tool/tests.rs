use crate::artifact::ArtifactKind;
use crate::effects::Concurrency;
use crate::effects::OnCollision;
use crate::schema::RawArgs;
use crate::schema::Rejection;
use crate::tool::approval::GateAnswer;
use crate::tool::approval::{ApprovalRequest, PendingCall, Review};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::*;

fn noop(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" }))
        .description("Does nothing.")
        .handler(|_: Value, _: ToolContext| async { "done" })
}

#[test]
fn an_invalid_definition_reports_every_invalid_field() {
    let error = Tool::dynamic("no good", json!({ "type": "string" }))
        .timeout(Duration::ZERO)
        .build()
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_INITIAL_TOOL_VALUE);
    assert_eq!(error.code().as_str(), "E_INVALID_INITIAL_TOOL_VALUE");
    assert!(error.is_fatal());
    for field in ["name:", "description:", "handler:", "timeout:", "schema:"] {
        assert!(
            error.to_string().contains(field),
            "{field} is not in {error}"
        );
    }
    let name = "name: must not contain ' ': use only [A-Za-z0-9_-], which all providers support";
    assert!(error.message().contains(name), "{error}");
    assert_eq!(error.problems()[0].pointer, "/type");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn names_are_limited_to_what_every_provider_supports() {
    for good in ["a", "get_weather", "Get-Weather2", &"x".repeat(64)] {
        assert_eq!(noop(good).build().unwrap().name(), good);
    }
    for (bad, words) in [
        ("", "must not be empty"),
        (&*"x".repeat(65), "(got 65)"),
        (&*"é".repeat(300), "(got 300)"),
        ("get weather", "must not contain ' '"),
        ("a.b", "must not contain '.'"),
        ("toolé", "must not contain 'é'"),
    ] {
        let error = noop(bad).build().unwrap_err();
        assert!(error.to_string().contains(words), "{bad:?}: {error}");
    }
}

#[test]
fn every_setting_has_a_getter_and_a_default() {
    let plain = noop("plain").build().unwrap();
    assert_eq!(plain.artifact_kind(), ArtifactKind::TEXT);
    assert!(plain.meta().get("a").is_none() && !plain.is_ephemeral() && !plain.is_trusted());
    assert_eq!(plain.on_collision(), OnCollision::Error);
    assert_eq!(plain.effects(), Effects::Writes);
    assert_eq!(plain.timeout(), Some(Duration::from_secs(300)));
    assert_eq!(plain.concurrency(), Concurrency::Parallel);

    let changed = noop("said")
        .artifact_kind(ArtifactKind::new("csv", || &[]))
        .meta(json!({ "a": { "b": 1 } }))
        .ephemeral(true)
        .trusted(true)
        .on_collision(OnCollision::Keep)
        .effects(Effects::ReadOnly)
        .timeout(None)
        .concurrency(Concurrency::Exclusive)
        .build()
        .unwrap();
    assert_eq!(changed.artifact_kind().as_str(), "csv");
    assert_eq!(changed.meta().get("a.b"), Some(&json!(1)));
    assert!(changed.is_ephemeral() && changed.is_trusted());
    assert_eq!(changed.on_collision(), OnCollision::Keep);
    assert_eq!(changed.effects(), Effects::ReadOnly);
    assert_eq!(changed.timeout(), None);
    assert_eq!(changed.concurrency(), Concurrency::Exclusive);
}

#[test]
fn the_fingerprint_is_a_digest_of_the_description() {
    let tool = noop("t").build().unwrap();
    assert_eq!(
        serde_json::to_value(tool.describe()).unwrap(),
        json!({ "name": "t", "description": "Does nothing.", "inputSchema": { "type": "object" } })
    );
    let same = noop("t").trusted(true).build().unwrap();
    assert_eq!(tool.fingerprint(), same.fingerprint());
    let others = [
        noop("u").build().unwrap(),
        noop("t").description("Other.").build().unwrap(),
        noop("t").version("2").build().unwrap(),
        Tool::dynamic("t", json!({ "type": "object", "maxProperties": 1 }))
            .description("Does nothing.")
            .handler(|_: Value, _| async { "" })
            .build()
            .unwrap(),
    ];
    for other in others {
        assert_ne!(tool.fingerprint(), other.fingerprint());
    }
}

#[tokio::test]
async fn validate_agrees_with_a_call() {
    #[derive(Deserialize, JsonSchema)]
    struct Args {
        n: u8,
    }
    let tool = Tool::typed::<Args>("t")
        .description("Takes a number.")
        .check("not_seven", |args: Value| async move {
            if args["n"] == 7 {
                Err(Rejection::at("/n", "is seven"))
            } else {
                Ok(())
            }
        })
        .handler(|args: Args, _| async move { args.n.to_string() })
        .build()
        .unwrap();
    let ctx = DispatchContext::standalone();
    for args in [
        r#"{"n": "5"}"#,
        r#"{"n": 256}"#,
        r#"{"n": 7}"#,
        "{",
        r#"{"n": 1, "n": 1}"#,
    ] {
        let (validated, ran) = (tool.validate(args).await, tool.call(&ctx, args).await);
        match (validated, ran) {
            (Ok(checked), Ok(output)) => {
                assert_eq!(output.as_text(), Some(&*checked.value()["n"].to_string()));
            }
            (Err(validated), Err(ran)) => {
                assert_eq!(validated.code(), ErrorCode::INVALID_TOOL_ARGS);
                assert_eq!(
                    (validated.faults(), validated.model_text()),
                    (ran.faults(), ran.model_text())
                );
            }
            (validated, ran) => panic!("{args}: {validated:?} but {ran:?}"),
        }
    }
    assert!(
        tool.probe(&json!({ "n": 7 })).is_ok(),
        "a probe runs no external checks"
    );
}

#[tokio::test]
async fn a_check_with_the_context_runs_in_calls_and_in_validate_in_only() {
    async fn in_stock(args: Value, ctx: DispatchContext) -> Result<(), Rejection> {
        let stock = ctx.stash().get("stock").unwrap_or_default();
        if args["n"].as_u64() <= stock.as_u64() {
            Ok(())
        } else {
            Err(Rejection::at("/n", "is more than is in stock"))
        }
    }
    let tool = Tool::dynamic("order", json!({ "type": "object" }))
        .description("Orders.")
        .check("in_stock", in_stock)
        .check("not_seven", |args: Value| async move {
            if args["n"] == 7 {
                Err(Rejection::at("/n", "is seven"))
            } else {
                Ok(())
            }
        })
        .approval(|_: &PendingCall<'_>| Review::ask("it is an order"))
        .handler(|args: Value, _| async move { args.to_string() })
        .build()
        .unwrap();
    let edit = |_: ApprovalRequest| async { GateAnswer::edit(json!({ "n": 9 })) };
    let ctx = DispatchContext::builder().approver(edit).build();
    ctx.stash().set("stock", 8).unwrap();

    let checked = tool.validate(json!({ "n": 9 })).await.unwrap();
    assert_eq!(checked.checks_not_run(), ["in_stock".into()]);
    let faults = |checked: Result<_, Error>| {
        let error = checked.err().unwrap();
        let rules = error.faults().iter().map(|fault| fault.rule.to_string());
        rules.collect::<Vec<_>>()
    };
    assert_eq!(faults(tool.validate("{\"n\": 7}").await), ["not_seven"]);
    let too_many = tool.validate_in(&ctx, json!({ "n": 9 })).await;
    assert_eq!(faults(too_many), ["in_stock"]);
    let checked = tool.validate_in(&ctx, json!({ "n": 8 })).await.unwrap();
    assert!(checked.checks_not_run().is_empty());
    // The arguments of the model are accepted; those of the approver are not.
    let edited = tool.call(&ctx, json!({ "n": 1 })).await;
    assert_eq!(faults(edited.map(|_| checked)), ["in_stock"]);
}

#[tokio::test]
async fn secrets_in_arguments_and_results_stay_out_of_debug() {
    let secret = "hunter2-secret";
    let args = json!({ "password": secret, "n": "7" });
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" }, "k": { "default": secret } } });
    let tool = Tool::dynamic("t", schema)
        .description("Keeps a secret.")
        .meta(json!({ "key": secret }))
        .handler(|args: Value, _: ToolContext| async move { args.to_string() })
        .build()
        .unwrap();
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([tool.clone()]).unwrap())
        .build();
    let seen = std::sync::Arc::new(parking_lot::Mutex::new(String::new()));
    let shown = std::sync::Arc::clone(&seen);
    ctx.turn()
        .events()
        .observe(move |event| shown.lock().push_str(&format!("{event:?}")));
    ctx.stash().set("token", secret).unwrap();
    let checked = tool.probe(&args).unwrap();
    let mut shown = format!(
        "{tool:?} {checked:?} {:?} {:?}",
        checked.repairs(),
        tool.meta()
    );
    shown += &format!(
        "{:?} {:?} {:?}",
        RawArgs::from(args.clone()),
        ToolOutput::text(secret),
        ctx.stash()
    );
    shown += &format!(
        "{:?} {:?}",
        Review::Rewrite(args.clone()),
        GateAnswer::edit(args.clone())
    );
    let proposed = ctx.propose("t", args.clone());
    shown += &format!("{proposed:?}");
    let checked = proposed.check().await.unwrap();
    shown += &format!("{checked:?}");
    let admitted = checked.admit().await.unwrap();
    shown += &format!("{admitted:?}");
    let outcome = admitted.run().await;
    shown += &format!("{outcome:?}");
    shown += &format!("{:?} {ctx:?} {}", outcome.settle().await, seen.lock());
    assert!(!shown.contains(secret), "{shown}");
}

#[test]
fn errors_of_a_handler_have_separate_texts_for_operator_and_model() {
    let error = ToolError::from(std::io::Error::other("db at 127.0.0.1 refused"));
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(
        error.model_text(),
        "The tool failed. No details are available."
    );
    let error = error
        .for_model("The archive is closed.")
        .with_kind(ErrorKind::Unavailable)
        .into_error("t");
    assert_eq!(error.code(), ErrorCode::TOOL_DOWNSTREAM_ERROR);
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.model_text(), "The archive is closed.");
    assert!(error.to_string().contains("db at 127.0.0.1 refused"));
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .is::<std::io::Error>(),
        "its source is kept"
    );
}

#[test]
fn every_code_has_a_unique_name_that_matches_the_pattern() {
    let names: std::collections::HashSet<&str> =
        ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names.len(), ErrorCode::ALL.len());
    assert!(names.iter().all(|name| name.starts_with("E_")));
    let fatal = ErrorCode::ALL
        .iter()
        .filter(|code| code.is_fatal())
        .map(|code| code.as_str());
    assert_eq!(
        fatal.collect::<Vec<_>>(),
        [
            "E_INVALID_SCHEMA",
            "E_INVALID_INITIAL_TOOL_VALUE",
            "E_TOOL_ALREADY_REGISTERED",
            "E_LLM_EXECUTION_ALREADY_SIGNALLED",
            "E_INVALID_TURN_RUNNER_CONFIG",
            "E_INVALID_STORAGE",
            "E_INVALID_TURN_CONTEXT",
            "E_MISSING_STATE",
            "E_INVALID_INITIAL_TURN_GATE_VALUE",
            "E_INVALID_TURN_GATE_RESOLUTION",
            "E_INVALID_STASH_PATH",
            "E_INVALID_MODEL_CONFIG",
            "E_INVALID_INITIAL_TOOL_CALL_VALUE",
            "E_INVALID_INITIAL_MESSAGE_VALUE",
            "E_INVALID_INITIAL_THOUGHT_VALUE",
            "E_INVALID_INITIAL_MEMORY_VALUE",
            "E_INVALID_INITIAL_CONVERSATION_INFO_VALUE",
            "E_INVALID_INITIAL_RETRIEVABLE_VALUE",
            "E_INVALID_INITIAL_INSTRUCTION_VALUE",
            "E_INVALID_INITIAL_MEDIA_VALUE",
        ]
    );
}

#[test]
fn an_output_schema_is_checked_when_the_tool_is_built() {
    let tool = noop("count")
        .output_schema(json!({ "type": "object" }))
        .build()
        .unwrap();
    assert_eq!(tool.output_schema().unwrap().document()["type"], "object");
    assert!(noop("count").build().unwrap().output_schema().is_none());
    let error = noop("count")
        .output_schema(json!({ "type": "strnig" }))
        .build()
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_INITIAL_TOOL_VALUE);
    assert!(error.message().contains("output_schema: "), "{error}");
}
