//! Which tools the API accepts, compared with recorded answers of the API.

use serde_json::Value;
use turnwright_core::{Error, Tool};
use turnwright_models::Protocol;

use super::builder;
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
