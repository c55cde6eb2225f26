//! State as a parameter.

use std::sync::Arc;

use serde_json::json;
use turnwright::{DispatchContext, Error, ErrorCode, State, Tool, ToolContext, runner, tool};

struct Users(Vec<&'static str>);

struct Greeting(&'static str);

/// Greets a user.
#[tool]
async fn greet(
    State(users): State<Users>,
    #[arg(max = 9)] number: usize,
    ctx: ToolContext,
    greeting: &State<Greeting>,
) -> Option<String> {
    assert_eq!(ctx.tool().name(), "greet");
    let user = users.0.get(number)?;
    Some(format!("{}, {user}!", greeting.0.0))
}

fn executor() -> impl turnwright::Executor + 'static {
    |_: DispatchContext| async { Ok(()) }
}

async fn called(tool: &Tool, ctx: &DispatchContext) -> Result<Option<String>, Error> {
    let output = tool.call(ctx, json!({"number": 0})).await?;
    output.into_text().await
}

#[tokio::test]
async fn state_is_a_parameter_but_not_an_argument() {
    let tool = greet().unwrap();
    let document = tool.describe().input_schema;
    let properties = document["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["number"]);
    assert_eq!(document["required"], json!(["number"]));

    let ctx = DispatchContext::builder()
        .state(Users(vec!["Ada"]))
        .state(Greeting("Hello"));
    let greeted = called(&tool, &ctx.build()).await.unwrap();
    assert_eq!(greeted.as_deref(), Some("Hello, Ada!"));
}

#[tokio::test]
async fn arc_state_is_found_by_its_inner_type() {
    let ctx = DispatchContext::builder()
        .state(Arc::new(Users(vec!["Ada"])))
        .state(Greeting("Hello"))
        .build();
    let greeted = called(&greet().unwrap(), &ctx).await.unwrap();
    assert_eq!(greeted.as_deref(), Some("Hello, Ada!"));
}

#[test]
fn missing_state_is_listed_when_the_runner_is_built() {
    let error = runner(executor()).tool(greet()).build().unwrap_err();
    assert_eq!(error.code(), ErrorCode::MISSING_STATE);
    for part in [
        "the tool `greet`",
        "::Users`",
        "::Greeting`",
        ".state(value)",
    ] {
        assert!(error.message().contains(part), "{part}: {error}");
    }
    let all = runner(executor())
        .tool(greet())
        .state(Arc::new(Users(Vec::new())))
        .state(Greeting("Hello"));
    assert!(all.build().is_ok());
}

#[tokio::test]
async fn without_a_runner_the_call_fails() {
    let tool = greet().unwrap();
    let ctx = DispatchContext::standalone();
    let error = called(&tool, &ctx).await.unwrap_err();
    assert!(error.message().contains("::Users`"), "{error}");
    assert_eq!(
        error.model_text(),
        "The tool is misconfigured. Do not call it again."
    );
}

/// The states of a country, as an argument of that name.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
enum StateOfTheUnion {
    Texas,
}

mod names {
    pub(super) type State = super::StateOfTheUnion;
}

/// Takes an argument whose type is called `State`.
#[tool]
async fn capital(state: names::State) -> String {
    format!("{state:?}")
}

#[tokio::test]
async fn argument_type_called_state_is_an_argument() {
    let output = super::call(&capital().unwrap(), json!({"state": "Texas"})).await;
    assert_eq!(output.unwrap(), "Texas");
}
