//! What a server thought and wants back, and the ids of calls.

use serde_json::{Value, json};
use std::sync::Arc;
use turnwright_core::store::MemoryStore;
use turnwright_core::{Tool, ToolContext, TurnInput};
use turnwright_models::ChatCompletions;
use turnwright_models::chat_completions::ReturnReasoning;
use turnwright_testkit::store::storage_of;

use crate::script::{Answer, Script, says};

fn noop() -> Tool {
    Tool::dynamic("noop", json!({ "type": "object" }))
        .description("Does nothing.")
        .handler(|_: Value, _: ToolContext| async { "done" })
        .build()
        .unwrap()
}

fn call(id: &str) -> Value {
    json!({ "index": 0, "id": id, "function": { "name": "noop", "arguments": "{}" }, "extra_content": { "signature": "s1" } })
}

fn thinks(fields: &Value) -> Answer {
    let mut delta = fields.clone();
    delta["tool_calls"] = json!([call("call_1")]);
    Answer::Stream(vec![
        json!({ "delta": delta }),
        json!({ "delta": {}, "finish_reason": "tool_calls" }),
    ])
}

/// The assistant's message as it is sent back.
async fn sent_back(fields: Value, which: ReturnReasoning) -> Value {
    let script = Script::new([thinks(&fields), says("Done.")]);
    let model = script.builder().return_reasoning(which).build().unwrap();
    let runner = turnwright_core::runner(model).tool(noop()).build().unwrap();
    let outcome = runner.run("Go.").await;
    assert_eq!(outcome.text, "Done.");
    assert_eq!(outcome.thoughts().count(), 1);
    script.values()[1]["messages"][2].clone()
}

#[tokio::test]
async fn thoughts_go_back_in_the_field_in_which_they_came_where_they_are_wanted() {
    use ReturnReasoning::{All, None, Wanted};
    let details = json!([{ "type": "reasoning.encrypted", "data": "x==", "index": 0 }]);
    let cases = [
        (
            json!({ "reasoning_content": "Hm." }),
            Wanted,
            json!({ "reasoning_content": "Hm." }),
        ),
        (json!({ "reasoning": "Hm." }), Wanted, json!({})),
        (
            json!({ "reasoning": "Hm." }),
            All,
            json!({ "reasoning": "Hm." }),
        ),
        (
            json!({ "reasoning": "Hm.", "reasoning_details": details }),
            Wanted,
            json!({ "reasoning_details": details }),
        ),
        (
            json!({ "reasoning_details": details }),
            Wanted,
            json!({ "reasoning_details": details }),
        ),
        (json!({ "reasoning_details": details }), None, json!({})),
        (json!({ "reasoning_content": "Hm." }), None, json!({})),
    ];
    for (came, which, goes) in cases {
        let mut sent = sent_back(came.clone(), which).await;
        let sent = sent.as_object_mut().unwrap();
        sent.remove("role");
        assert_eq!(sent.remove("content"), Some(Value::Null));
        sent.remove("tool_calls");
        assert_eq!(Value::from(sent.clone()), goes, "{came} {which:?}");
    }
}

#[tokio::test]
async fn what_came_with_a_call_goes_back_with_it() {
    let sent = sent_back(
        json!({ "reasoning_content": "Hm." }),
        ReturnReasoning::Wanted,
    )
    .await;
    assert_eq!(
        sent["tool_calls"][0]["extra_content"],
        json!({ "signature": "s1" })
    );
    assert_eq!(sent["tool_calls"][0]["id"], "call_1");
}

#[tokio::test]
async fn another_server_gets_neither_thoughts_nor_state_nor_foreign_ids() {
    let store = Arc::new(MemoryStore::default());
    let details = json!([{ "type": "reasoning.text", "text": "Hm.", "signature": "sig" }]);
    let script = Script::new([
        thinks(&json!({ "reasoning": "Hm.", "reasoning_details": details })),
        says("Done."),
        says("Again."),
    ]);
    let runner = |model: ChatCompletions| {
        turnwright_core::runner(model)
            .storage(storage_of(Arc::clone(&store)))
            .tool(noop())
            .build()
            .unwrap()
    };
    let say = |text: &str| TurnInput::new(text).conversation("c");
    runner(script.model())
        .run(say("Go."))
        .await
        .into_answer()
        .unwrap();
    let other = ChatCompletions::builder("http://127.0.0.1:9/other/v1")
        .model("m")
        .transport(script.clone())
        .build()
        .unwrap();
    runner(other)
        .run(say("Once more."))
        .await
        .into_answer()
        .unwrap();
    let sent = &script.values()[2]["messages"];
    let assistant = &sent[2];
    assert!(
        assistant.get("reasoning_details").is_none() && assistant.get("reasoning").is_none(),
        "{assistant}"
    );
    assert!(assistant["tool_calls"][0].get("extra_content").is_none());
    let id = assistant["tool_calls"][0]["id"].as_str().unwrap();
    assert_ne!(id, "call_1");
    // What even the strictest server takes.
    assert!(
        id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "{id}"
    );
    assert_eq!(sent[3]["tool_call_id"], id);
}

#[tokio::test]
async fn ids_that_are_missing_or_repeat_do_not_matter() {
    let same = |id: Value| {
        let one =
            json!({ "index": 0, "id": id, "function": { "name": "noop", "arguments": "{}" } });
        let two = json!({ "index": 1, "id": id, "function": { "name": "noop", "arguments": "{\"n\": 2}" } });
        Answer::Stream(vec![
            json!({ "delta": { "tool_calls": [one, two] } }),
            json!({ "delta": {}, "finish_reason": "tool_calls" }),
        ])
    };
    for id in [json!("call_0"), Value::Null, json!("")] {
        let script = Script::new([same(id.clone()), same(id.clone()), says("Done.")]);
        let runner = turnwright_core::runner(script.model())
            .tool(noop())
            .build()
            .unwrap();
        let outcome = runner.run("Go.").await;
        assert_eq!(outcome.text, "Done.");
        assert_eq!(outcome.tool_calls().count(), 4, "{id}");
        let values = script.values();
        let messages = values[2]["messages"].as_array().unwrap();
        let calls = messages
            .iter()
            .filter_map(|item| item["tool_calls"].as_array())
            .flatten();
        let mut ids: Vec<&str> = calls.map(|item| item["id"].as_str().unwrap()).collect();
        let answers = messages
            .iter()
            .filter_map(|item| item["tool_call_id"].as_str());
        assert_eq!(
            ids,
            answers.collect::<Vec<_>>(),
            "each call has its answer, in order"
        );
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 4, "no id stands for two calls");
    }
}
