//! Typed answers as they arrive.

use turnwright_core::schema::Typed;

use super::*;

/// The partial values of a turn, as text.
async fn seen(turn: &Turn) -> Vec<String> {
    let mut values = turn.partial_answers::<Value>();
    let mut seen = Vec::new();
    while let Some(value) = values.next().await {
        seen.push(value.to_string());
    }
    seen
}

fn start<T: Typed>(runner: &TurnRunner) -> Turn {
    runner.start(TurnInput::new("x").answer::<T>())
}

/// A model that sends these messages, the last one as its answer.
fn streaming(pieces: &'static [&'static [&'static str]]) -> TurnRunner {
    let model = move |ctx: DispatchContext| async move {
        let mut message = ctx.reporter().message();
        for piece in pieces[ctx.iteration() as usize - 1] {
            match *piece {
                "again" => message.restart(),
                piece => message.push(piece).await,
            }
        }
        message.finish_as_answer().await?;
        Ok(ctx.ack()?)
    };
    runner(model).build().unwrap()
}

#[tokio::test]
async fn partial_values_follow_the_deltas_and_precede_the_answer() {
    let runner = streaming(&[&[r#"{"value": ["a"#, r#"b", 1"#, r#"2], "#, "\n", "}"]]);
    let turn = start::<(String, Vec<u8>)>(&runner);
    drop(seen(&turn).await);
    let answer = turn.await.answer::<(String, Vec<u8>)>();
    assert!(answer.is_err(), "it is not validated on the way");

    let runner = streaming(&[&["{", r#""value": "#, r#"["a"#, r#"b", "c"#, r#"d"]}"#]]);
    let turn = start::<Vec<String>>(&runner);
    let seen = seen(&turn).await;
    assert_eq!(seen, [r#"["a"]"#, r#"["ab","c"]"#, r#"["ab","cd"]"#]);
    assert_eq!(turn.await.answer::<Vec<String>>().unwrap(), ["ab", "cd"]);
}

#[tokio::test]
async fn a_repeated_request_resets_the_partial_answer() {
    let runner = streaming(&[&[r#"{"value": ["a"#, "again", r#"{"value": ["b"#, r#""]}"#]]);
    let turn = start::<Vec<String>>(&runner);
    let seen = seen(&turn).await;
    assert_eq!(seen, [r#"["a"]"#, r#"["b"]"#, r#"["b"]"#]);
    assert_eq!(turn.await.answer::<Vec<String>>().unwrap(), ["b"]);
}

#[tokio::test]
async fn a_rejected_answer_resets_the_partial_answer() {
    let runner = streaming(&[&[r#"{"value": "many"}"#], &[r#"{"value": 7}"#]]);
    let turn = start::<u8>(&runner);
    assert_eq!(seen(&turn).await, [r#""many""#, "7"]);
    assert_eq!(turn.await.answer::<u8>().unwrap(), 7);
}

#[tokio::test]
async fn another_message_resets_the_partial_answer() {
    let model = ScriptedModel::new([
        Step::say(r#"{"looks": "like an answer"}"#).call("look", "{}"),
        Step::say(r#"{"value": true}"#),
    ]);
    let look = tool("look").handler(|_: Value, _: ToolContext| async { "seen" });
    let runner = runner(model).tool(look.build()).build().unwrap();
    let turn = start::<bool>(&runner);
    let seen = seen(&turn).await;
    assert_eq!(seen, [r#"{"looks":"like an answer"}"#, "true"]);
    assert!(turn.await.answer::<bool>().unwrap());
}

#[tokio::test]
async fn a_user_type_with_optional_fields_reads_partial_values() {
    #[derive(Debug, Default, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    #[serde(default)]
    struct Draft {
        title: Option<String>,
        tags: Vec<String>,
    }
    let runner = streaming(&[&[r#"{"title": "T"#, r#"ea", "tags": ["h"#, r#"ot"]}"#]]);
    let turn = start::<Draft>(&runner);
    let mut partial = turn.partial_answers::<Draft>();
    let mut drafts = Vec::new();
    while let Some(draft) = partial.next().await {
        drafts.push(draft);
    }
    assert_eq!(drafts[0].title.as_deref(), Some("T"));
    assert_eq!(drafts[1].tags, ["h"]);
    assert_eq!(drafts.last(), turn.await.answer().ok().as_ref());
}

#[tokio::test]
async fn a_type_without_a_schema_is_an_error_and_the_stream_ends() {
    let runner = streaming(&[]);
    let turn = start::<u128>(&runner);
    assert!(seen(&turn).await.is_empty());
    let error = turn.await.answer::<u128>().unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_SCHEMA);
}
