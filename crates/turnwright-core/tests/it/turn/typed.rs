//! Typed answers.

use schemars::JsonSchema;
use serde::Deserialize;
use turnwright_core::artifact::Inline;
use turnwright_core::record::Author;
use turnwright_core::runner::AnswerFormat;
use turnwright_core::schema::Schema;

use super::*;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Weather {
    city: String,
    #[schemars(range(min = -90, max = 60))]
    celsius: i32,
}

fn paris(celsius: i32) -> Weather {
    Weather {
        city: "Paris".to_owned(),
        celsius,
    }
}

const GOOD: &str = r#"{"city": "Paris", "celsius": 17}"#;
const WRONG: &str = r#"{"city": "Paris", "celsius": 900}"#;

fn weather_in_paris() -> TurnInput {
    TurnInput::new("How warm is it in Paris?").answer::<Weather>()
}

async fn ask(model: &ScriptedModel) -> TurnOutcome {
    let runner = runner(model.clone()).build().unwrap();
    runner.run(weather_in_paris()).await
}

fn error_of_answer(outcome: &TurnOutcome) -> Error {
    outcome.answer::<Weather>().unwrap_err()
}

#[tokio::test]
async fn the_executor_gets_the_schema_and_a_valid_answer_is_parsed() {
    let model = ScriptedModel::new([Step::say(GOOD)]);
    let typed = ask(&model).await;
    assert_eq!(typed.text, GOOD);
    assert_eq!(typed.answer::<Weather>().unwrap(), paris(17));
    let shown = model.request(0);
    let schema = shown.answer_schema().expect("the provider may want it");
    assert_eq!(schema["properties"]["celsius"]["maximum"], 60);
    assert_eq!(shown.texts(), ["How warm is it in Paris?"]);
}

#[tokio::test]
async fn an_answer_is_checked_like_arguments_and_may_be_in_a_code_block() {
    for words in [
        r#"{"city": "Paris", "celsius": "17"}"#,
        "```json\n{\"city\": \"Paris\", \"celsius\": 17}\n```",
        "  ```\n{\"city\": \"Paris\", \"celsius\": 17.0}\n```\n",
    ] {
        let model = ScriptedModel::new([Step::say(words)]);
        assert_eq!(
            ask(&model).await.answer::<Weather>().unwrap(),
            paris(17),
            "{words}"
        );
        model.assert_finished();
    }
}

#[tokio::test]
async fn the_faults_of_an_invalid_answer_are_sent_to_the_model() {
    let model = ScriptedModel::new([Step::say(WRONG), Step::say(GOOD)]);
    let typed = ask(&model).await;
    assert_eq!(typed.iterations, 2);
    assert_eq!(typed.answer::<Weather>().unwrap(), paris(17));
    let shown = model.request(1);
    let shown_text = shown.messages().last().unwrap();
    assert_eq!(shown_text.author, Author::Framework);
    assert!(
        shown_text.text.contains("/celsius") && shown_text.text.contains("900"),
        "{}",
        shown_text.text
    );
    assert_eq!(shown.texts()[1], WRONG, "it sees what it said");
    model.assert_finished();
}

#[tokio::test]
async fn the_model_may_retry_twice_by_default() {
    let model = ScriptedModel::new([
        Step::say("17 degrees"),
        Step::say(WRONG),
        Step::say("{}"),
        Step::say(GOOD),
    ]);
    let typed = ask(&model).await;
    assert_eq!(code_of(&typed), "E_INVALID_ANSWER");
    assert_eq!(error_of_answer(&typed).code().as_str(), "E_INVALID_ANSWER");
    assert_eq!(model.unplayed(), [3]);

    for retries in [0, 1, 5] {
        let steps = (0..=retries).map(|_| Step::say(WRONG));
        let model = ScriptedModel::new(steps.chain([Step::say("one too many")]));
        let runner = runner(model.clone()).build().unwrap();
        let format =
            AnswerFormat::new("weather", Schema::of::<Weather>().unwrap()).retries(retries);
        let typed = runner.run(TurnInput::new("x").answer_format(format)).await;
        assert!(typed.answer::<Weather>().is_err());
        assert_eq!(model.request_count(), retries as usize + 1);
    }
}

#[tokio::test]
async fn each_try_is_an_iteration_with_the_same_tools() {
    let observed = Observed::default();
    let model = ScriptedModel::new([
        Step::call_tool("measure", "{}"),
        Step::say(WRONG),
        Step::call_tool("measure", "{}"),
        Step::say(GOOD),
    ]);
    let measure = tool("measure")
        .inline(Inline::Never)
        .handler(|_: Value, _: ToolContext| async { "17" })
        .build();
    let runner = runner(model.clone())
        .tool(measure)
        .observer(observed.observer())
        .build()
        .unwrap();
    let weather: Weather = runner.ask("x").await.unwrap();
    assert_eq!(weather, paris(17));
    assert_eq!(observed.of("dispatchStart").len(), 1);
    assert_eq!(observed.of("iterationStart").len(), 4);
    assert_eq!(observed.of("answerRejected").len(), 1);
    observed.assert_paired();
    for later in 1..4 {
        assert_eq!(
            model.request(later).tools(),
            model.request(0).tools(),
            "iteration {later}"
        );
    }
    assert_eq!(model.request(3).tool_calls().len(), 2);
}

#[tokio::test]
async fn a_turn_without_an_answer_returns_its_own_error() {
    let refused = ask(&ScriptedModel::new([Step::nack("not my job")])).await;
    assert_eq!(error_of_answer(&refused).message(), "not my job");
    let failed = ask(&ScriptedModel::new([Step::fail("no network")])).await;
    assert_eq!(
        error_of_answer(&failed).code(),
        ErrorCode::LLM_EXECUTION_EXECUTOR_ERROR
    );
    let silent = ask(&ScriptedModel::new([
        Step::silent(),
        Step::silent(),
        Step::silent(),
    ]))
    .await;
    assert_eq!(error_of_answer(&silent).code(), ErrorCode::INVALID_ANSWER);
}

#[tokio::test]
async fn a_type_without_a_schema_is_rejected_before_the_turn() {
    let model = ScriptedModel::new([]);
    let runner = runner(model.clone()).build().unwrap();
    let typed = runner.run(TurnInput::new("x").answer::<u128>()).await;
    let error = typed.answer::<u128>().unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_SCHEMA);
    assert!(matches!(typed.status, TurnStatus::Failed(_)));
    assert_eq!(model.request_count(), 0);
}

#[tokio::test]
async fn an_answer_without_a_type_is_not_a_typed_one() {
    let runner = runner(ScriptedModel::new([Step::say(GOOD)]))
        .build()
        .unwrap();
    let error = error_of_answer(&runner.run("x").await);
    assert_eq!(error.code(), ErrorCode::INVALID_ANSWER);
    assert!(error.message().contains("`TurnInput::answer`"), "{error}");
}
