//! Typed answers as they arrive.

use turnwright_core::runner::{TypedEvent, TypedTurn};

use super::*;

/// The partial values and resets of a turn, as text.
async fn seen<T>(turn: &mut TypedTurn<T>) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(event) = turn.next().await {
        match event {
            TypedEvent::Partial(partial) => seen.push(partial.value().to_string()),
            TypedEvent::Reset => seen.push("reset".to_owned()),
            _ => {}
        }
    }
    seen
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
    let mut turn = runner.start_typed::<(String, Vec<u8>)>("x");
    drop(seen(&mut turn).await);
    let outcome = turn.await;
    assert!(outcome.answer.is_err(), "it is not validated on the way");

    let runner = streaming(&[&["{", r#""value": "#, r#"["a"#, r#"b", "c"#, r#"d"]}"#]]);
    let mut turn = runner.start_typed::<Vec<String>>("x");
    let seen = seen(&mut turn).await;
    assert_eq!(seen, [r#"["a"]"#, r#"["ab","c"]"#, r#"["ab","cd"]"#]);
    assert_eq!(turn.await.into_answer().unwrap(), ["ab", "cd"]);
}

#[tokio::test]
async fn a_repeated_request_resets_the_partial_answer() {
    let runner = streaming(&[&[r#"{"value": ["a"#, "again", r#"{"value": ["b"#, r#""]}"#]]);
    let mut turn = runner.start_typed::<Vec<String>>("x");
    let seen = seen(&mut turn).await;
    assert_eq!(seen, [r#"["a"]"#, "reset", r#"["b"]"#, r#"["b"]"#]);
    assert_eq!(turn.await.into_answer().unwrap(), ["b"]);
}

#[tokio::test]
async fn a_rejected_answer_resets_the_partial_answer() {
    let runner = streaming(&[&[r#"{"value": "many"}"#], &[r#"{"value": 7}"#]]);
    let mut turn = runner.start_typed::<u8>("x");
    let mut names = Vec::new();
    while let Some(event) = turn.next().await {
        names.push(match event {
            TypedEvent::Turn(event) => event.name().to_owned(),
            TypedEvent::Partial(partial) => partial.value().to_string(),
            TypedEvent::Reset => "reset".to_owned(),
            _ => unreachable!(),
        });
    }
    names.retain(|name| !["messageDelta", "turnStart", "usage", "turnEnd"].contains(&&**name));
    assert_eq!(
        names,
        [
            r#""many""#,
            "message",
            "reset",
            "answerRejected",
            "7",
            "message"
        ]
    );
    assert_eq!(turn.await.into_answer().unwrap(), 7);
}

#[tokio::test]
async fn another_message_resets_the_partial_answer() {
    let model = ScriptedModel::new([
        Step::say(r#"{"looks": "like an answer"}"#).call("look", "{}"),
        Step::say(r#"{"value": true}"#),
    ]);
    let look = tool("look").handler(|_: Value, _: ToolContext| async { "seen" });
    let runner = runner(model).tool(look.build()).build().unwrap();
    let mut turn = runner.start_typed::<bool>("x");
    let seen = seen(&mut turn).await;
    assert_eq!(seen, [r#"{"looks":"like an answer"}"#, "reset", "true"]);
    assert!(turn.await.into_answer().unwrap());
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
    let mut turn = runner.start_typed::<Draft>("x");
    let mut drafts = Vec::new();
    while let Some(event) = turn.next().await {
        if let TypedEvent::Partial(partial) = event {
            drafts.push(partial.parse::<Draft>().unwrap());
        }
    }
    assert_eq!(drafts[0].title.as_deref(), Some("T"));
    assert_eq!(drafts[1].tags, ["h"]);
    assert_eq!(drafts.last(), turn.await.into_answer().ok().as_ref());
}

#[tokio::test]
async fn a_type_without_a_schema_is_an_error_and_the_stream_ends() {
    let runner = streaming(&[]);
    let mut turn = runner.start_typed::<u128>("x");
    assert!(seen(&mut turn).await.is_empty());
    let typed = turn.await;
    assert_eq!(typed.answer.unwrap_err().code(), ErrorCode::INVALID_SCHEMA);
}
