use serde_json::{Value, json};

use super::{added, completed, delta, deltas_of, done, message, streamed};
use crate::decode::{Cut, Delta, Finish};

#[test]
fn text_arrives_live_and_once() {
    let events = [
        delta("output_text", 0, "Hel"),
        delta("output_text", 0, "lo"),
        json!({ "type": "response.output_text.done", "output_index": 0, "text": "Hello" }),
        done(0, message("m1", "Hello!")),
        completed(),
    ];
    let texts: Vec<_> = deltas_of(&events)
        .into_iter()
        .filter_map(|delta| match delta {
            Delta::Text(text) => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["Hel", "lo", "!"]);
    let reply = streamed(&events);
    assert_eq!(reply.text, "Hello!");
    assert_eq!(
        reply.state["layout"],
        json!([{ "text": { "bytes": 6, "fields": { "message": { "id": "m1" } } } }])
    );
    assert!(reply.is_complete() && reply.done);
    assert_eq!(
        (reply.finish, reply.id.as_deref()),
        (Some(Finish::Stop), Some("r"))
    );
}

#[test]
fn text_without_deltas_arrives_with_its_item_or_with_the_last_event() {
    let reply = streamed(&[done(0, message("m1", "Hello")), completed()]);
    assert_eq!(reply.text, "Hello");
    let mut last = completed();
    last["response"]["output"] = json!([message("m1", "Hello"), message("m2", "World")]);
    assert_eq!(streamed(&[last.clone()]).text, "HelloWorld");
    // An item that was complete counts, not its copy.
    let reply = streamed(&[done(0, message("m0", "Hi")), last.clone()]);
    assert_eq!(reply.text, "HiWorld");
    assert_eq!(
        reply.state["layout"][0]["text"]["fields"]["message"]["id"],
        "m0"
    );
    // Nor if the indexes are of another list.
    assert_eq!(streamed(&[done(7, message("m0", "Hi")), last]).text, "Hi");
}

#[test]
fn an_item_that_contradicts_its_deltas_does_not_repeat_them() {
    let reply = streamed(&[
        delta("output_text", 0, "Hello "),
        done(0, message("m1", "Hello")),
        completed(),
    ]);
    assert_eq!(reply.text, "Hello ");
    assert_eq!(reply.state["layout"][0]["text"]["bytes"], 6);
}

#[test]
fn texts_of_parallel_items_do_not_mix() {
    let reply = streamed(&[
        delta("output_text", 0, "a"),
        delta("output_text", 1, "x"),
        delta("output_text", 0, "b"),
        done(1, message("m1", "xy")),
        done(0, message("m0", "abc")),
        completed(),
    ]);
    assert_eq!(reply.text, "abcxy");
    let ids: Vec<&Value> = reply.state["layout"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| &part["text"]["fields"]["message"]["id"])
        .collect();
    assert_eq!(ids, ["m0", "m1"]);
    // Also if the second begins first: the layout follows the text.
    let reply = streamed(&[
        delta("output_text", 1, "x"),
        done(0, message("m0", "abc")),
        done(1, message("m1", "xy")),
        completed(),
    ]);
    assert_eq!(reply.text, "xyabc");
    assert_eq!(
        reply.state["layout"][0]["text"]["fields"]["message"]["id"],
        "m1"
    );
}

#[test]
fn items_after_others_may_have_the_same_index() {
    let reply = streamed(&[
        delta("reasoning_text", 0, "Hm."),
        delta("output_text", 0, "He"),
        done(0, message("m1", "Hey")),
        done(0, message("m1", "Hey")),
        done(0, message("m2", "!")),
        completed(),
    ]);
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_str()),
        ("Hey!", "Hm.")
    );
}

#[test]
fn events_without_an_index_belong_to_the_open_item() {
    let event =
        |kind: &str, text: &str| json!({ "type": format!("response.{kind}.delta"), "delta": text });
    let item = |item: Value| json!({ "type": "response.output_item.done", "item": item });
    let reply = streamed(&[
        event("reasoning_text", "Hm"),
        event("output_text", "He"),
        event("reasoning_text", "."),
        item(message("m1", "Hey")),
        completed(),
    ]);
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_str()),
        ("Hey", "Hm.")
    );
}

#[test]
fn items_are_found_by_id_if_they_have_no_index() {
    let added = |id: &str| {
        let item = json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "" });
        json!({ "type": "response.output_item.added", "item": item })
    };
    let piece = |id: &str, text: &str| json!({ "type": "response.function_call_arguments.delta", "item_id": id, "delta": text });
    let done = |item: Value| {
        let mut event = json!({ "type": "response.output_item.done" });
        event["item"] = item;
        event
    };
    let call = |id: &str, arguments: &str| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": arguments });
    let mut last = completed();
    last["response"]["output"] = json!([message("m1", "Hi"), call("a", "{}"), call("b", "[]")]);
    let reply = streamed(&[
        json!({ "type": "response.output_item.added", "item": { "type": "message", "id": "m1" } }),
        json!({ "type": "response.output_text.delta", "item_id": "m1", "delta": "H" }),
        added("a"),
        piece("a", "{"),
        added("b"),
        piece("b", "["),
        done(message("m1", "Hi")),
        done(call("a", "{}")),
        done(call("b", "[]")),
        last.clone(),
    ]);
    assert_eq!(reply.text, "Hi");
    let calls = reply.tool_calls.iter();
    let calls: Vec<_> = calls
        .map(|call| (call.id.as_deref(), call.arguments.as_str()))
        .collect();
    assert_eq!(calls, [(Some("a"), "{}"), (Some("b"), "[]")]);
    assert!(reply.is_complete());
    // Also if the items are only in the last event.
    let reply = streamed(&[piece("a", "{"), piece("b", "["), last]);
    assert_eq!(reply.tool_calls.len(), 2);
    assert!(reply.is_complete() && reply.text == "Hi");
}

#[test]
fn reasoning_keeps_its_parts_and_what_the_server_attached() {
    let item = json!({
        "type": "reasoning", "id": "rs_1", "status": "completed", "encrypted_content": "new", "format": "f-v1",
        "summary": [{ "type": "summary_text", "text": "äb" }, { "type": "summary_text", "text": "c" }],
        "content": [{ "type": "reasoning_text", "text": "d" }],
    });
    let reply = streamed(&[
        added(
            0,
            json!({ "type": "reasoning", "id": "rs_0", "encrypted_content": "old" }),
        ),
        delta("reasoning_summary_text", 0, "ä"),
        done(0, item),
        done(1, message("m1", "Hello")),
        completed(),
    ]);
    assert_eq!(reply.reasoning, "äbcd");
    let fields = json!({
        "id": "rs_1", "encrypted_content": "new", "format": "f-v1", "summary": [3, 1], "content": [1],
    });
    assert_eq!(
        reply.state["layout"][0]["reasoning"],
        json!({ "bytes": 5, "fields": fields })
    );
}

#[test]
fn refusals_and_phases_and_annotations_are_kept() {
    let citation = json!({ "type": "url_citation", "url": "http://a" });
    let item = json!({ "type": "message", "id": "m1", "role": "assistant", "phase": "commentary", "content": [
        { "type": "output_text", "text": "Well.", "annotations": [citation], "logprobs": [] },
        { "type": "refusal", "refusal": "No." },
    ] });
    let reply = streamed(&[
        delta("output_text", 0, "Well"),
        delta("refusal", 0, ""),
        done(0, item),
        completed(),
    ]);
    assert_eq!(
        (reply.text.as_str(), reply.refusal.as_str()),
        ("Well.", "No.")
    );
    let message = json!({ "id": "m1", "phase": "commentary" });
    assert_eq!(
        reply.state["layout"],
        json!([
            { "text": { "bytes": 5, "fields": { "message": message, "annotations": [citation] } } },
            { "text": { "bytes": 3, "fields": { "more": true, "refusal": true } } },
        ])
    );
    let described = crate::Protocol::Responses.describe(&reply);
    assert_eq!(described["other"], json!(["citation:url_citation"]));
}

#[test]
fn items_of_server_tools_are_kept_as_they_are() {
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed", "action": { "query": "q" } });
    let reply = streamed(&[
        added(
            0,
            json!({ "type": "web_search_call", "id": "ws_1", "status": "in_progress" }),
        ),
        json!({ "type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1" }),
        done(0, search.clone()),
        delta("output_text", 1, "Found"),
        done(1, message("m1", "Found")),
        completed(),
    ]);
    assert_eq!(reply.text, "Found");
    assert_eq!(reply.state["layout"][0]["raw"], search);
    assert_eq!(
        crate::Protocol::Responses.describe(&reply)["other"],
        json!(["web_search_call"])
    );
}

#[test]
fn truncated_streams_keep_what_arrived() {
    let reply = streamed(&[
        delta("reasoning_text", 0, "Hm"),
        delta("output_text", 1, "Hel"),
    ]);
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_str()),
        ("Hel", "Hm")
    );
    assert!(!reply.done && reply.finish.is_none());
    let reply = streamed(&[
        delta("output_text", 0, "Hel"),
        super::incomplete("max_output_tokens"),
    ]);
    assert_eq!(reply.text, "Hel");
    assert_eq!(
        (reply.cut(), reply.finish_reason.as_deref()),
        (Some(Cut::Length), Some("incomplete"))
    );
    // What is not complete has nothing attached.
    assert!(reply.state.is_empty());
}

#[test]
fn statuses_are_classified() {
    let finish = |status: &str, details: Value| {
        let response = json!({ "status": status, "incomplete_details": details, "output": [] });
        streamed(&[json!({ "type": "response.completed", "response": response })])
            .finish
            .unwrap()
    };
    assert_eq!(finish("completed", Value::Null), Finish::Stop);
    let reason = |reason: &str| json!({ "reason": reason });
    assert_eq!(
        finish("incomplete", reason("max_output_tokens")),
        Finish::Cut(Cut::Length)
    );
    assert_eq!(
        finish("incomplete", reason("content_filter")),
        Finish::Cut(Cut::Filter)
    );
    assert_eq!(finish("incomplete", Value::Null), Finish::Cut(Cut::Failure));
    assert_eq!(finish("cancelled", Value::Null), Finish::Cut(Cut::Failure));
    assert_eq!(finish("queued", Value::Null), Finish::Unknown);
    // Without a status, the name of the event counts.
    let last = json!({ "type": "response.completed", "response": {} });
    assert_eq!(streamed(&[last]).finish, Some(Finish::Stop));
}

#[test]
fn servers_may_leave_out_event_names_and_add_an_end_mark() {
    let events = [
        delta("output_text", 0, "Hi"),
        done(0, message("m1", "Hi")),
        completed(),
    ];
    let lines: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let reply = super::decode(&format!(": ping\n\n{lines}data: [DONE]\n\n")).unwrap();
    assert_eq!(reply.text, "Hi");
    assert!(reply.is_complete());
    // The end mark alone does not complete a response.
    let reply = super::decode("data: {\"type\":\"response.created\"}\n\ndata: [DONE]\n\n").unwrap();
    assert!(!reply.done && reply.finish.is_none());
}

#[test]
fn items_of_provider_tools_and_citations_are_content_of_third_parties() {
    use turnwright_core::trust::TrustTier::{ThirdPartyPrivate, ThirdPartyPublic};
    let tiers = |item: Value| {
        let body = json!({ "status": "completed", "output": [item] }).to_string();
        let reply = crate::Protocol::Responses.decode(Some("application/json"), body.as_bytes());
        let tiers = reply.unwrap().provider_content.into_iter();
        tiers.collect::<Vec<_>>()
    };
    assert_eq!(
        tiers(json!({ "type": "web_search_call" })),
        [ThirdPartyPublic]
    );
    assert_eq!(
        tiers(json!({ "type": "file_search_call" })),
        [ThirdPartyPrivate]
    );
    assert_eq!(tiers(json!({ "type": "mcp_call" })), [ThirdPartyPrivate]);
    assert_eq!(tiers(json!({ "type": "image_generation_call" })), []);
    let message = |annotations: Value| {
        let content = json!([{ "type": "output_text", "text": "a", "annotations": annotations }]);
        json!({ "type": "message", "role": "assistant", "content": content })
    };
    assert_eq!(tiers(message(json!([]))), []);
    let cited = message(json!([{ "type": "url_citation" }]));
    assert_eq!(tiers(cited), [ThirdPartyPublic]);
    // Also where only the last event has the item, and its other items count as read.
    let mut last = completed();
    last["response"]["output"] = json!([{ "type": "file_search_call", "id": "f" }]);
    let hello = done(7, super::message("m0", "Hello"));
    let reply = streamed(&[hello, last]);
    assert_eq!(reply.text, "Hello");
    assert!(reply.provider_content.contains(&ThirdPartyPrivate));
}
