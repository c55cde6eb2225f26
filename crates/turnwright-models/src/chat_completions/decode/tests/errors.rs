use serde_json::json;
use turnwright_core::{ErrorCode, ErrorKind};

use super::{delta, error_of};
use crate::decode::{Delta, error_message};

#[test]
fn error_message_includes_the_field() {
    let cases = [
        (
            r#"{"detail":[{"loc":["body","messages",1,"content"],"msg":"Field required"}]}"#,
            "body.messages.1.content: Field required",
        ),
        (
            r#"{"error":{"message":"Unsupported value","param":"temperature"}}"#,
            "Unsupported value (temperature)",
        ),
        (
            r#"{"error":{"message":"Invalid 'temperature'","param":"temperature"}}"#,
            "Invalid 'temperature'",
        ),
    ];
    for (body, message) in cases {
        assert_eq!(error_message(body.as_bytes()), message);
    }
}

#[test]
fn error_in_a_stream_ends_it_with_the_message_of_the_server() {
    let error = json!({
        "error": { "code": 502, "message": "Provider\nreturned error" },
        "choices": [{ "index": 0, "delta": { "content": "" }, "finish_reason": "error" }],
    });
    let text = format!(
        "data: {}\n\ndata: {error}\n\n",
        delta(json!({ "content": "a" }))
    );
    let mut decoder = super::decoder(None);
    let mut deltas = Vec::new();
    let error = decoder.push(text.as_bytes(), &mut deltas).unwrap_err();
    assert_eq!(error.code(), ErrorCode::MODEL_SERVER_ERROR);
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(
        error.message(),
        "the model server answered with an error: Provider returned error"
    );
    assert_eq!(deltas, [Delta::Text("a".to_owned())]);
    let again = decoder.push(b"data: [DONE]\n\n", &mut deltas).unwrap_err();
    assert_eq!(again.message(), error.message());
    assert!(decoder.finish(&mut deltas).is_err());
    assert_eq!(deltas.len(), 1);
}

#[test]
fn errors_of_all_shapes_are_recognised() {
    for (text, kind) in [
        (
            r#"{"error":{"message":"no","code":429}}"#,
            ErrorKind::RateLimited,
        ),
        (r#"{"error":"no"}"#, ErrorKind::Internal),
        (r#"{"code":"503","message":"no"}"#, ErrorKind::Unavailable),
        (
            r#"{"object":"error","message":"no","code":400}"#,
            ErrorKind::Internal,
        ),
        (r#"{"detail":"no"}"#, ErrorKind::Internal),
        (r#"{"errors":[{"message":"no"}]}"#, ErrorKind::Internal),
        (
            r#"{"choices":[{"error":{"message":"no","code":504}}]}"#,
            ErrorKind::Timeout,
        ),
    ] {
        for text in [
            text.to_owned(),
            format!("data: {text}\n\n"),
            format!("event: error\ndata: {text}"),
        ] {
            let error = error_of(None, &text);
            assert_eq!(error.code(), ErrorCode::MODEL_SERVER_ERROR, "{text}");
            assert_eq!(error.kind(), kind, "{text}");
            assert!(error.message().ends_with(": no"), "{text}: {error}");
        }
    }
    assert_eq!(
        error_of(None, r#"[{"error":{"message":"no"}}]"#).code(),
        ErrorCode::MODEL_SERVER_ERROR
    );
    assert_eq!(
        error_of(None, "event: error\ndata: no\n\n").code(),
        ErrorCode::MODEL_SERVER_ERROR
    );
}

#[test]
fn empty_error_field_is_ignored() {
    for error in [json!(null), json!(""), json!({}), json!([]), json!(false)] {
        let text = json!({ "error": error, "choices": [{ "message": { "content": "a" }, "error": error }] });
        assert_eq!(super::body(&text).text, "a");
    }
}

#[test]
fn error_message_is_found_in_any_shape() {
    for (body, message) in [
        (r#"{"error":{"message":"no","type":"x"}}"#, "no"),
        (r#"{"error":{"message":"","code":"quota"}}"#, "quota"),
        (r#"{"error":{"error":{"message":"no"}}}"#, "no"),
        (
            r#"{"message":{"detail":[{"loc":["body"],"msg":"one"},{"msg":"two"}]}}"#,
            "body: one; two",
        ),
        (r#"[{"error":{"message":"no"}}]"#, "no"),
        (
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"too long"}}}"#,
            "Provider returned error: too long",
        ),
        (r#"{"weird":[1]}"#, r#"{"weird":[1]}"#),
        ("plain\ttext\n", "plain text"),
        (
            "<HTML><head><TITLE lang=en> 403 Forbidden </TITLE>",
            "403 Forbidden",
        ),
        ("<p>no", "<p>no"),
        ("data: {\"error\":\"no\"}\n\n", "no"),
        ("\u{FEFF}{\"error\":\"no\"}", "no"),
        ("null", "no reason was given"),
        ("{}", "no reason was given"),
        (" \n", "no reason was given"),
        ("\u{202E}no\u{0}", "\\u{202e}no\\u{0}"),
    ] {
        assert_eq!(error_message(body.as_bytes()), message, "{body}");
    }
    assert_eq!(error_message(b"\xFF"), "\u{FFFD}");
    let long = error_message("é".repeat(10_000).as_bytes());
    assert_eq!(long.chars().count(), 501);
}

#[test]
fn unreadable_response_is_quoted_in_part() {
    let secret = "s".repeat(1_000);
    for text in [
        format!("data: {{\"choices\": {secret}}}\n\n"),
        format!("data: {secret}\n\n"),
        format!("data: \"{secret}\"\n\n"),
        format!("data: {{\"choices\":\"{secret}\"}}\n\n"),
        format!("{{\"choices\": [{{\"message\":\"{secret}\"}}]}}"),
        format!("{{\"choices\": [{{\"message\":{{\"tool_calls\":[\"{secret}\"]}}}}]}}"),
        format!("{{\"{secret}"),
        format!("[\"{secret}\"]"),
        format!("{{\"object\":\"{secret}\"}}"),
    ] {
        let error = error_of(None, &text);
        assert_eq!(error.code(), ErrorCode::WIRE_ERROR, "{text}");
        let message = format!("{error:?} {}", error.with_causes());
        assert!(!message.contains(&secret[..81]), "{message}");
    }
    let error = error_of(None, "data: {\"choices\":5}\n\n");
    assert_eq!(
        error.message(),
        "an event of the response cannot be parsed: invalid type: integer `5`, expected a list at line 1 column 12"
    );
}

#[test]
fn body_without_choices_is_an_error() {
    let error = error_of(None, r#"{"object":"list","data":[]}"#);
    assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
    assert!(error.message().contains("no `choices`"), "{error}");
}

#[test]
fn body_that_is_not_utf8_is_rejected() {
    let error = super::decode(
        None,
        b"{\"choices\":[{\"message\":{\"content\":\"\xFF\"}}]}",
    )
    .unwrap_err();
    assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
}
