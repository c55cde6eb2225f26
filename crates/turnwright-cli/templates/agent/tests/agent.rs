//! Tests the agent with a scripted model: no API key, no network.

use serde_json::json;
use turnwright_testkit::contract;
use turnwright_testkit::script::{ScriptedModel, Step};

use {{crate}}::{agent, forecast};

#[tokio::test]
async fn the_answer_uses_the_forecast() {
    let model = ScriptedModel::new([
        Step::call_tool("forecast", json!({ "city": "Paris", "days": 5 })),
        Step::say("Sunny for 5 days."),
    ]);
    let outcome = agent(model.clone()).unwrap().run("How is Paris?").await;
    assert_eq!(outcome.text, "Sunny for 5 days.");
    // What the model read as the result of its call.
    let shown = model.request(1);
    let result = shown.tool_calls()[0].rendered();
    assert!(result.contains("Paris: sunny for 5 days"), "{result}");
    model.assert_finished();
}

#[tokio::test]
async fn invalid_arguments_do_not_reach_the_tool() {
    let model = ScriptedModel::new([
        Step::call_tool("forecast", json!({ "city": "Paris", "days": 99 })),
        Step::say("I could not look that up."),
    ]);
    let outcome = agent(model).unwrap().run("How is Paris?").await;
    let call = outcome.tool_calls().next().unwrap();
    let text = call.text().await.unwrap();
    let fault = "/days: must be at most 14 (got 99)";
    assert!(text.contains(fault), "{text}");
}

#[test]
fn the_schema_of_the_tool_is_what_is_enforced() {
    contract::fuzz(&forecast().unwrap());
}
