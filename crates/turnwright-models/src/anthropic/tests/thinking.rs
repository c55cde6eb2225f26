use serde_json::{Value, json};
use turnwright_core::ModelSettings;
use turnwright_core::settings::{ReasoningEffort, ToolChoice};

use super::body::{CALL, Request, THOUGHT, assistant, effort, request, results, user, with};
use crate::anthropic::quirks::{
    ADAPTIVE_THINKING, BUDGETED_THINKING, NO_EFFORT, NO_SAMPLING, ONE_SAMPLING,
};
use crate::engine::{Role, WireMessage};

#[test]
fn reasoning_effort_is_adaptive_thinking_or_a_budget() {
    let budget = |tokens: u64| json!({ "type": "enabled", "budget_tokens": tokens });
    let adaptive = json!({ "type": "adaptive" });
    let cases = [
        ("claude-sonnet-4-5", "low", budget(2_048), Value::Null),
        (
            "claude-sonnet-4-20250514",
            "minimal",
            budget(1_024),
            Value::Null,
        ),
        ("claude-haiku-4-5", "medium", budget(8_192), Value::Null),
        ("claude-opus-4-5", "high", budget(16_384), json!("high")),
        ("local-model", "high", budget(16_384), Value::Null),
        (
            "claude-sonnet-4-6",
            "minimal",
            adaptive.clone(),
            json!("low"),
        ),
        ("claude-opus-4-6", "xhigh", adaptive.clone(), json!("high")),
        ("claude-opus-4-8", "xhigh", adaptive.clone(), json!("xhigh")),
        ("claude-opus-5", "max", adaptive, json!("max")),
        ("claude-opus-4-8", "none", Value::Null, Value::Null),
        (
            "claude-opus-5",
            "none",
            json!({ "type": "disabled" }),
            Value::Null,
        ),
        ("claude-opus-5-5", "none", Value::Null, Value::Null),
    ];
    for (model, name, thinking, level) in cases {
        let body = with(effort(name)).on(model).body();
        assert_eq!(
            (&body["thinking"], &body["output_config"]["effort"]),
            (&thinking, &level),
            "{model} {name}"
        );
        let tokens = body["max_tokens"].as_u64().unwrap();
        assert!(
            tokens > thinking["budget_tokens"].as_u64().unwrap_or(0),
            "{model} {name}"
        );
    }
    assert_eq!(
        with(effort("high"))
            .on("claude-opus-4-8")
            .thinking(Value::Null)
            .body()
            .get("thinking"),
        None
    );
    let own = with(effort("high"))
        .on("claude-opus-4-8")
        .thinking(json!({ "type": "adaptive", "display": "summarized" }));
    assert_eq!(own.body()["thinking"]["display"], "summarized");
}

#[test]
fn learned_quirks_change_the_request() {
    let quirky = |settings: ModelSettings, model, quirks| {
        Request {
            quirks,
            ..with(settings).on(model)
        }
        .body()
    };
    let body = quirky(
        effort("low"),
        "claude-opus-4-8",
        BUDGETED_THINKING.union(NO_EFFORT),
    );
    assert_eq!(
        (&body["thinking"]["type"], body.get("output_config")),
        (&json!("enabled"), None)
    );
    let body = quirky(effort("low"), "local-model", ADAPTIVE_THINKING);
    assert_eq!(body["thinking"], json!({ "type": "adaptive" }));
    let sampling = || ModelSettings::new().temperature(0.5).top_p(0.9);
    let body = quirky(sampling(), "claude-opus-4-8", ONE_SAMPLING);
    assert_eq!(
        (&body["temperature"], body.get("top_p")),
        (&json!(0.5), None)
    );
    let body = quirky(sampling(), "claude-opus-4-8", NO_SAMPLING);
    assert_eq!((body.get("temperature"), body.get("top_p")), (None, None));
}

#[test]
fn thinking_budget_fits_max_tokens() {
    let budget = |tokens: u64| json!({ "type": "enabled", "budget_tokens": tokens });
    let body = request().thinking(budget(60_000)).body();
    assert_eq!(body["max_tokens"], 68_192);
    let limited =
        |limit| with(ModelSettings::new().max_output_tokens(limit)).thinking(budget(4_000));
    let (body, warning) = limited(3_000).write();
    assert_eq!(
        (&body["max_tokens"], &body["thinking"]),
        (&json!(3_000), &budget(1_500))
    );
    assert!(warning.contains("from 4000 to 1500"), "{warning}");
    let (body, warning) = limited(1_000).write();
    assert_eq!(
        (&body["max_tokens"], body.get("thinking")),
        (&json!(1_000), None)
    );
    assert!(warning.contains("more than 1024"), "{warning}");
    let settings = effort("high").max_output_tokens(3_000);
    assert_eq!(
        with(settings).body()["thinking"],
        budget(1_500),
        "an effort has no exact budget"
    );
}

#[test]
fn thinking_excludes_sampling_and_forced_calls() {
    for thinking in [
        json!({ "type": "adaptive" }),
        json!({ "type": "enabled", "budget_tokens": 2_048 }),
    ] {
        let settings = ModelSettings::new()
            .temperature(0.5)
            .tool_choice(ToolChoice::Tool("t".to_owned()));
        let (body, warning) = with(settings).tool().thinking(thinking).write();
        assert_eq!(
            (body.get("temperature"), &body["tool_choice"]),
            (None, &json!({ "type": "auto" }))
        );
        assert!(
            warning.contains("`temperature`") && warning.contains("tool choice"),
            "{warning}"
        );
    }
    let settings = ModelSettings::new()
        .temperature(0.5)
        .reasoning_effort(ReasoningEffort::None);
    assert_eq!(with(settings).body()["temperature"], 0.5);
}

#[test]
fn thinking_is_left_out_if_the_open_calls_have_none() {
    let manual = || json!({ "type": "enabled", "budget_tokens": 2_048 });
    let signed = format!("{THOUGHT},{CALL}");
    // The messages, and whether thinking stays on: with a budget, and adaptive.
    let cases: [(Vec<WireMessage>, bool, bool); 7] = [
        (
            vec![user("a"), assistant(&signed, false), results()],
            true,
            true,
        ),
        (
            vec![user("a"), assistant(CALL, false), results()],
            false,
            true,
        ),
        (
            vec![user("a"), assistant(CALL, true), results()],
            false,
            false,
        ),
        (
            vec![user("a"), assistant(CALL, true), results(), user("note")],
            false,
            false,
        ),
        // Only the first response of the exchange must start with thinking.
        (
            vec![
                user("a"),
                assistant(&signed, false),
                results(),
                assistant(CALL, false),
                results(),
            ],
            true,
            true,
        ),
        (
            vec![
                user("a"),
                assistant(&signed, false),
                results(),
                assistant(CALL, true),
                results(),
            ],
            false,
            false,
        ),
        // The exchange is over.
        (
            vec![
                user("a"),
                assistant(CALL, true),
                results(),
                assistant("{}", false),
                user("b"),
            ],
            true,
            true,
        ),
    ];
    for (index, (messages, with_budget, adaptive)) in cases.into_iter().enumerate() {
        let jsons: Vec<(String, Role, bool)> = messages
            .iter()
            .map(|message| {
                (
                    message.json.clone(),
                    message.role,
                    message.has_foreign_calls,
                )
            })
            .collect();
        for (thinking, stays) in [
            (manual(), with_budget),
            (json!({ "type": "adaptive" }), adaptive),
        ] {
            let again = jsons.iter().map(|(json, role, foreign)| {
                let mut message = WireMessage::of_json(*role, json.clone());
                message.has_foreign_calls = *foreign;
                message
            });
            let request = Request {
                messages: again.collect(),
                ..request()
            };
            let (body, warning) = request.thinking(thinking).write();
            assert_eq!(body.get("thinking").is_some(), stays, "{index}");
            assert_eq!(warning.contains("no thinking"), !stays, "{index}");
        }
    }
    let messages = vec![user("a"), assistant(CALL, true), results()];
    let (body, _) = Request {
        messages,
        ..with(effort("high")).on("claude-opus-5")
    }
    .write();
    assert_eq!(
        body["thinking"],
        json!({ "type": "disabled" }),
        "it thinks by default"
    );
}
