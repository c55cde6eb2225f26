use serde_json::{Value, json};
use turnwright_core::Error;

use crate::Protocol;
use crate::decode::{Cut, Finish, Reply};
use crate::engine::OptionMap;
use crate::gemini::codec::INFO;

fn decode(chunks: &[Value]) -> Result<Reply, Error> {
    let events = chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n"));
    let body: String = events.collect();
    Protocol::Gemini.decode(Some("text/event-stream"), body.as_bytes())
}

fn chunk(parts: &Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({ "candidates": [candidate] })
}

#[test]
fn parts_are_one_reply_with_their_signatures() {
    let call = json!({ "functionCall": { "name": "weather", "args": { "city": "Bern" } }, "thoughtSignature": "s1" });
    let reply = decode(&[
        chunk(&json!([{ "text": "Hm.", "thought": true }]), None),
        chunk(&json!([{ "text": "I " }]), None),
        chunk(
            &json!([{ "text": "look." }, call, { "functionCall": { "name": "now" } }]),
            None,
        ),
        chunk(
            &json!([{ "text": "", "thoughtSignature": "s2" }]),
            Some("STOP"),
        ),
    ])
    .unwrap();
    assert_eq!((&*reply.reasoning, &*reply.text), ("Hm.", "I look."));
    assert_eq!(reply.tool_calls[0].arguments, r#"{"city":"Bern"}"#);
    assert_eq!(reply.tool_calls[1].arguments, "{}");
    assert_eq!(reply.finish, Some(Finish::ToolCalls));
    assert!(reply.done && reply.is_complete());
    let line = Protocol::Gemini.describe(&reply);
    assert_eq!(line["state"], json!(["s1", "s2"]));
}

#[test]
fn text_may_follow_a_finish_reason() {
    let code = json!([{ "executableCode": { "code": "1+1" } }, { "text": "So " }]);
    let reply = decode(&[
        chunk(&code, Some("STOP")),
        chunk(&json!([{ "text": "two." }]), Some("STOP")),
    ])
    .unwrap();
    assert_eq!(reply.text, "So two.");
    assert!(reply.is_complete());
    assert_eq!(
        Protocol::Gemini.describe(&reply)["other"],
        json!(["executableCode"])
    );
    // Without another finish reason the response is not complete, so that its calls would not run.
    for after in [
        json!([{ "text": "two." }]),
        json!([{ "functionCall": { "name": "weather" } }]),
    ] {
        let first = chunk(&json!([{ "text": "So " }]), Some("STOP"));
        let cut = decode(&[first, chunk(&after, None)]).unwrap();
        assert!(!cut.done && !cut.is_complete(), "{after}");
    }
    // The end of the body does not make up for it.
    let call = json!([{ "functionCall": { "name": "weather" } }]);
    for (reason, complete) in [(None, false), (Some("STOP"), true)] {
        let first = chunk(&json!([{ "text": "So " }]), Some("STOP"));
        let body = json!([first, chunk(&call, reason)]).to_string();
        let reply = Protocol::Gemini.decode(None, body.as_bytes()).unwrap();
        assert_eq!(reply.is_complete(), complete);
    }
}

#[test]
fn finish_reasons_and_blocks_are_told_apart() {
    let cases = [
        ("MAX_TOKENS", Finish::Cut(Cut::Length)),
        ("SAFETY", Finish::Cut(Cut::Filter)),
        ("RECITATION", Finish::Cut(Cut::Filter)),
        ("MALFORMED_FUNCTION_CALL", Finish::Cut(Cut::Malformed)),
        ("SOMETHING_NEW", Finish::Unknown),
        // Without a call.
        ("FUNCTION_CALL", Finish::Unknown),
    ];
    for (reason, finish) in cases {
        let reply = decode(&[chunk(&json!([{ "text": "a" }]), Some(reason))]).unwrap();
        assert_eq!(
            (reply.finish, reply.is_complete()),
            (Some(finish), false),
            "{reason}"
        );
    }
    let call = json!([{ "functionCall": { "name": "now" } }]);
    let called = decode(&[chunk(&call, Some("FUNCTION_CALL"))]).unwrap();
    assert!(called.is_complete() && called.finish == Some(Finish::ToolCalls));
    let blocked = decode(&[json!({ "promptFeedback": { "blockReason": "SAFETY" } })]).unwrap();
    assert_eq!(blocked.finish, Some(Finish::Cut(Cut::Filter)));
    let none = decode(&[chunk(&json!([{ "text": "a" }]), None)]).unwrap();
    assert!(!none.done && none.finish.is_none());
}

#[test]
fn errors_and_other_protocols_are_reported() {
    let error = decode(&[
        json!({ "error": { "code": 503, "message": "overloaded", "status": "UNAVAILABLE" } }),
    ]);
    let error = error.unwrap_err();
    assert_eq!(error.code().as_str(), "E_MODEL_SERVER_ERROR");
    assert!(error.message().contains("overloaded"), "{error}");
    let other = decode(&[json!({ "choices": [] })]).unwrap_err();
    assert!(
        other.message().contains("this looks like Chat Completions"),
        "{other}"
    );
    // A stream without `alt=sse` is a list.
    let list = json!([chunk(&json!([{ "text": "Hi" }]), Some("STOP"))]).to_string();
    let reply = Protocol::Gemini.decode(None, list.as_bytes()).unwrap();
    assert_eq!(reply.text, "Hi");
    let parts: Vec<Value> = (0..2_000)
        .map(|_| json!({ "functionCall": { "name": "f" } }))
        .collect();
    let error = decode(&[chunk(&json!(parts), None)]).unwrap_err();
    assert!(error.message().contains("more than 1000 parts"), "{error}");
}

#[test]
fn a_response_that_was_cut_off_may_lack_what_the_tools_of_the_provider_have_read() {
    use turnwright_core::trust::TrustTier::{ThirdPartyPrivate, ThirdPartyPublic};
    let unseen = |tools: Value, is_complete: bool| {
        let options = json!({ "provider_tools": tools });
        let options = OptionMap::read(options.as_object().unwrap(), &INFO).unwrap();
        (INFO.unseen_content)(&options, is_complete)
    };
    let tools = json!([{ "googleSearch": {} }, { "fileSearch": {} }]);
    assert_eq!(unseen(tools.clone(), true), []);
    assert_eq!(unseen(tools, false), [ThirdPartyPublic, ThirdPartyPrivate]);
    assert_eq!(unseen(json!([]), false), []);
}

#[test]
fn results_of_provider_tools_are_content_of_third_parties() {
    use turnwright_core::trust::TrustTier::{ThirdPartyPrivate, ThirdPartyPublic};
    let tiers = |mut candidate: Value| {
        candidate["finishReason"] = "STOP".into();
        let body = json!({ "candidates": [candidate] }).to_string();
        let reply = Protocol::Gemini.decode(Some("application/json"), body.as_bytes());
        let tiers = reply.unwrap().provider_content.into_iter();
        tiers.collect::<Vec<_>>()
    };
    let part = |part: Value| json!({ "content": { "parts": [part] } });
    assert_eq!(
        tiers(part(json!({ "codeExecutionResult": {} }))),
        [ThirdPartyPrivate]
    );
    assert_eq!(tiers(part(json!({ "executableCode": {} }))), []);
    assert_eq!(tiers(part(json!({ "text": "a" }))), []);
    let search = json!({ "groundingMetadata": { "webSearchQueries": ["q"] } });
    assert_eq!(tiers(search), [ThirdPartyPublic]);
    let files = json!({ "groundingMetadata": { "groundingChunks": [{ "retrievedContext": {} }] } });
    assert_eq!(tiers(files), [ThirdPartyPrivate]);
    assert_eq!(tiers(json!({ "groundingMetadata": {} })), []);
}
