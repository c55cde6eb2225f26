//! Arguments that reach the function, and its results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use turnwright::{Json, ToolContext, ToolError, tool};

use super::call;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

/// Prints its arguments.
#[tool]
async fn say(
    text: &str,
    words: &[String],
    owned: String,
    units: Units,
    maybe: Option<Units>,
    mut count: u8,
) -> String {
    count += 1;
    format!("{text} {words:?} {owned} {units:?} {maybe:?} {count}")
}

#[tokio::test]
async fn arguments_are_borrowed_or_moved_as_declared() {
    let arguments = json!({
        "text": "a", "words": ["b", "c"], "owned": "d", "units": "metric", "maybe": "imperial", "count": 1,
    });
    assert_eq!(
        call(&say().unwrap(), arguments).await.unwrap(),
        r#"a ["b", "c"] d Metric Some(Imperial) 2"#
    );
}

#[tokio::test]
async fn optional_parameter_may_be_omitted_or_null() {
    let tool = say().unwrap();
    let mut arguments =
        json!({"text": "a", "words": [], "owned": "d", "units": "metric", "count": 1});
    assert_eq!(
        call(&tool, arguments.clone()).await.unwrap(),
        "a [] d Metric None 2"
    );
    arguments["maybe"] = json!(null);
    assert_eq!(
        call(&tool, arguments).await.unwrap(),
        "a [] d Metric None 2"
    );
}

#[tokio::test]
async fn enum_accepts_only_its_variants() {
    let arguments = json!({"text": "a", "words": [], "owned": "d", "units": "kelvin", "count": 1});
    let error = call(&say().unwrap(), arguments).await.unwrap_err();
    assert_eq!(error.faults()[0].pointer, "/units");
}

fn two_words() -> Vec<String> {
    vec!["x".to_owned(), "y".to_owned()]
}

/// Prints its defaults.
#[tool]
async fn say_defaults(
    #[arg(default = "lent")] text: &str,
    #[arg(default = "owned")] owned: String,
    #[arg(default = two_words())] words: &[String],
    #[arg(default = [1, 2])] numbers: &[u8],
    #[arg(default = Units::Imperial)] units: Units,
    #[arg(default = Some(7))] maybe: Option<u8>,
    #[arg(default = -1.5)] number: f64,
) -> String {
    format!("{text} {owned} {words:?} {numbers:?} {units:?} {maybe:?} {number}")
}

#[tokio::test]
async fn absent_arguments_get_their_defaults() {
    assert_eq!(
        call(&say_defaults().unwrap(), "{}").await.unwrap(),
        r#"lent owned ["x", "y"] [1, 2] Imperial Some(7) -1.5"#
    );
}

#[tokio::test]
async fn sent_value_overrides_the_default() {
    let tool = say_defaults().unwrap();
    let text = call(&tool, json!({"text": "t", "numbers": [], "number": 2}))
        .await
        .unwrap();
    assert_eq!(text, r#"t owned ["x", "y"] [] Imperial Some(7) 2"#);
}

/// Takes its context in the middle, by reference.
#[tool]
async fn lent_context(a: u8, context: &ToolContext, b: u8) -> String {
    let _ = context;
    format!("{a}{b}")
}

/// Takes its context first, by value.
#[tool]
async fn own_context(context: ToolContext, a: &str) -> String {
    drop(context);
    a.to_owned()
}

/// Takes only its context.
#[tool]
async fn only_context(_: ToolContext) -> &'static str {
    "alone"
}

#[tokio::test]
async fn context_may_be_borrowed_moved_or_omitted() {
    let lent = call(&lent_context().unwrap(), json!({"a": 1, "b": 2})).await;
    assert_eq!(lent.unwrap(), "12");
    let owned = call(&own_context().unwrap(), json!({"a": "x"})).await;
    assert_eq!(owned.unwrap(), "x");
    let alone = call(&only_context().unwrap(), "{}").await;
    assert_eq!(alone.unwrap(), "alone");
}

#[test]
fn context_is_not_in_the_schema() {
    let tool = lent_context().unwrap();
    let properties = tool.schema().document()["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["a", "b"]);
}

/// Names that the expansion might have used.
#[tool]
async fn clashing(
    args: u8,
    ctx: u8,
    arguments: u8,
    context: u8,
    schema: u8,
    generator: u8,
    __turnwright_arguments: u8,
    clashing: u8,
) -> String {
    let sum = args + ctx + arguments + context + schema + generator;
    (sum + __turnwright_arguments + clashing).to_string()
}

#[tokio::test]
async fn parameter_names_do_not_clash_with_the_expansion() {
    let arguments = json!({
        "args": 1, "ctx": 1, "arguments": 1, "context": 1, "schema": 1, "generator": 1,
        "__turnwright_arguments": 1, "clashing": 1,
    });
    assert_eq!(call(&clashing().unwrap(), arguments).await.unwrap(), "8");
}

/// Parses a number.
#[tool]
async fn parse(text: &str) -> Result<Json<i64>, ToolError> {
    Ok(Json(text.parse()?))
}

#[tokio::test]
async fn question_mark_converts_any_error() {
    let tool = parse().unwrap();
    assert!(call(&tool, json!({"text": "12"})).await.is_ok());
    let error = call(&tool, json!({"text": "twelve"})).await.unwrap_err();
    assert_eq!(error.code().as_str(), "E_TOOL_DOWNSTREAM_ERROR");
}

#[tokio::test]
async fn unknown_arguments_are_rejected_before_the_function_runs() {
    let error = call(&parse().unwrap(), json!({"text": "1", "more": 1}))
        .await
        .unwrap_err();
    assert_eq!(error.faults()[0].pointer, "/more");
}

mod somewhere_else {
    /// Counts down by calling itself.
    #[turnwright::tool]
    #[allow(clippy::unused_async)]
    pub(super) async fn count_down(from: u8) -> String {
        if from == 0 {
            return "0".to_owned();
        }
        let rest = Box::pin(count_down(from - 1)).await;
        format!("{from} {rest}")
    }
}

#[tokio::test]
async fn function_can_call_itself() {
    let tool = somewhere_else::count_down().unwrap();
    assert_eq!(call(&tool, json!({"from": 2})).await.unwrap(), "2 1 0");
}

macro_rules! tool_over {
    ($name:ident, $type:ty, $least:expr, $description:literal) => {
        #[tool(description = $description)]
        async fn $name(#[arg(min = $least, default = $least)] value: $type) -> String {
            value.to_string()
        }
    };
}

tool_over!(over_integers, i16, -5, "Takes an integer.");
tool_over!(over_numbers, f64, 0.5, "Takes a number.");

#[tokio::test]
async fn macro_rules_can_create_tools() {
    let integers = over_integers().unwrap();
    assert_eq!(integers.description(), "Takes an integer.");
    assert_eq!(call(&integers, "{}").await.unwrap(), "-5");
    let numbers = over_numbers().unwrap();
    assert!(call(&numbers, json!({"value": 0.25})).await.is_err());
    assert_eq!(call(&numbers, json!({"value": 2.5})).await.unwrap(), "2.5");
}
