//! Which tools the API accepts, compared with recorded answers of the API.

use serde_json::{Value, json};
use turnwright_core::settings::ToolChoice;
use turnwright_core::{Error, ErrorCode, ModelSettings, Next, Tool, TurnContext};
use turnwright_models::Protocol;
use turnwright_testkit::server::Server;

use super::turns::{call, says, warning};
use super::{builder, stream};
use crate::requests::recorded_tool;
use crate::wire::recorded;

#[test]
fn recorded_strict_tools_are_rejected_only_if_the_server_rejected_them() {
    let Some(recorded) = recorded(Protocol::Anthropic) else {
        return;
    };
    let (mut accepted, mut rejected) = (0, 0);
    for exchange in &recorded {
        let name = exchange.name();
        let tools = exchange.request["tools"].as_array();
        let tools = tools
            .into_iter()
            .flatten()
            .filter(|tool| tool["strict"] == true);
        let tools: Vec<&Value> = tools.collect();
        if tools.is_empty() {
            continue;
        }
        let built = build(&tools);
        let error = built.err().map(|error| error.message().to_owned());
        match exchange.status {
            200 => {
                assert_eq!(error, None, "{name}");
                accepted += 1;
            }
            _ if exchange.body.contains("too complex") => {
                // A limit that depends on the whole request.
                assert_eq!(error, None, "{name}");
            }
            _ => {
                let error = error.unwrap_or_else(|| panic!("{name} was rejected"));
                crate::say(format_args!("{name}: {error}"));
                rejected += 1;
            }
        }
    }
    crate::say(format_args!(
        "strict tools: {accepted} requests accepted, {rejected} rejected, as by the server"
    ));
    assert!(accepted > 40 && rejected > 3);
}

fn build(tools: &[&Value]) -> Result<(), Error> {
    let model = builder("http://127.0.0.1:9").strict_tools(true).build()?;
    let tools = tools
        .iter()
        .map(|tool| recorded_tool(tool, &tool["input_schema"]));
    let tools = tools.collect::<Result<Vec<Tool>, Error>>()?;
    turnwright_core::runner(model)
        .tools(tools)
        .build()
        .map(drop)
}

fn closed(name: &str) -> Tool {
    let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    let described = json!({ "name": name, "description": "Does nothing." });
    recorded_tool(&described, &schema).unwrap()
}

#[test]
fn more_strict_tools_than_a_request_can_have_are_an_error() {
    let build = |count: usize| {
        let model = builder("http://127.0.0.1:9").strict_tools(true).build()?;
        let tools = (0..count).map(|number| closed(&format!("t{number}")));
        turnwright_core::runner(model)
            .tools(tools)
            .build()
            .map(drop)
    };
    build(20).unwrap();
    let error = build(21).unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_TURN_RUNNER_CONFIG);
    assert!(
        error.message().contains("`t20`") && error.message().contains("20 tools"),
        "{error}"
    );
}

#[tokio::test]
async fn a_strict_tool_that_is_one_too_many_is_withheld_with_a_warning() {
    let server = Server::script([says("Hello."), says("Hello.")])
        .await
        .unwrap();
    let model = builder(&server.url()).strict_tools(true).build().unwrap();
    let runner = turnwright_core::runner(model)
        .tools((0..20).map(|number| closed(&format!("t{number}"))))
        .turn_input(|ctx: TurnContext, next: Next<TurnContext>| async move {
            ctx.tools().register(closed("late"))?;
            next.run().await
        });
    let (runner, warnings) = warning(runner);
    let runner = runner.build().unwrap();
    // The second request finds the tools in a cache.
    for _ in 0..2 {
        assert_eq!(runner.run("Hi.").await.into_answer().unwrap(), "Hello.");
    }
    for request in server.requests() {
        let tools = request.json().unwrap()["tools"].as_array().unwrap().clone();
        assert_eq!(tools.len(), 20);
        assert!(tools.iter().all(|tool| tool["name"] != "late"));
    }
    let warnings = warnings.lock().unwrap();
    let is_known = |line: &String| line.contains("`late` is not shown to the model");
    assert!(
        warnings.len() == 2 && warnings.iter().all(is_known),
        "{warnings:?}"
    );
}

/// A tool that was registered during a turn, as an MCP server's is, cannot be checked when the runner is built.
#[tokio::test]
async fn a_tool_that_the_api_rejects_is_withheld_with_a_warning_and_cannot_be_chosen() {
    let server = Server::script([
        stream(&[call("toolu_1", "t0", json!({}))], "tool_use"),
        says("Hello."),
    ])
    .await
    .unwrap();
    let settings = ModelSettings::new().tool_choice(ToolChoice::Tool("either".to_owned()));
    let model = builder(&server.url()).settings(settings).build().unwrap();
    let runner = turnwright_core::runner(model)
        .tool(closed("t0"))
        .turn_input(|ctx: TurnContext, next: Next<TurnContext>| async move {
            ctx.tools().register(either())?;
            next.run().await
        });
    let (runner, warnings) = warning(runner);
    let outcome = runner.build().unwrap().run("Hi.").await;
    assert_eq!(outcome.into_answer().unwrap(), "Hello.");
    for request in server.requests() {
        let body = request.json().unwrap();
        let tools = body["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0]["name"], "t0");
        assert_eq!(body["tool_choice"], json!({ "type": "auto" }));
    }
    // Both requests of the turn are without it; the operator is informed once.
    let warnings = warnings.lock().unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].starts_with("the tool `either` is not shown to the model")
            && warnings[0].contains("`anyOf` at the root"),
        "{warnings:?}"
    );
    assert!(warnings[1].contains("the tool choice names `either`"));
    // As a tool of the user's own, it is an error before anything runs.
    let model = builder("http://127.0.0.1:9").build().unwrap();
    let error = turnwright_core::runner(model)
        .tool(either())
        .build()
        .map(drop);
    let error = error.unwrap_err();
    assert!(
        error.message().contains("`either`") && error.message().contains("`anyOf`"),
        "{error}"
    );
}

fn either() -> Tool {
    let object = |name: &str| json!({ "type": "object", "required": [name], "properties": { name: { "type": "string" } } });
    let schema = json!({ "type": "object", "anyOf": [object("a"), object("b")] });
    let described = json!({ "name": "either", "description": "Takes one or the other." });
    recorded_tool(&described, &schema).unwrap()
}
