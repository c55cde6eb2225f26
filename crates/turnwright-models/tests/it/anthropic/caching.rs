//! How much of each request the provider can read from its prompt cache.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use turnwright_core::store::MemoryStore;
use turnwright_core::{Effects, Tool, ToolContext, TurnInput};
use turnwright_models::anthropic::Options;
use turnwright_testkit::server::Server;
use turnwright_testkit::store::storage_of;

use super::{builder, stream};

/// The number of blocks before a mark that the provider searches for a cached prefix.
const LOOKBACK: usize = 20;

/// The provider's cache: the prefixes at the marks of earlier requests.
#[derive(Default)]
struct Cache(HashSet<String>);

impl Cache {
    /// Returns the bytes of a request that are read from the cache, and all of its bytes. Then caches its prefixes.
    fn serve(&mut self, body: &Value) -> (usize, usize) {
        let mut blocks: Vec<Value> = Vec::new();
        for part in ["tools", "system"] {
            blocks.extend(body[part].as_array().into_iter().flatten().cloned());
        }
        for message in body["messages"].as_array().unwrap() {
            blocks.extend(message["content"].as_array().unwrap().iter().cloned());
        }
        let (mut prefix, mut prefixes, mut marks) = (String::new(), Vec::new(), Vec::new());
        for (index, mut block) in blocks.into_iter().enumerate() {
            if block
                .as_object_mut()
                .unwrap()
                .remove("cache_control")
                .is_some()
            {
                marks.push(index);
            }
            prefix.push_str(&block.to_string());
            prefixes.push(prefix.clone());
        }
        assert!((1..=4).contains(&marks.len()), "{marks:?}");
        let searched = marks
            .iter()
            .flat_map(|mark| mark.saturating_sub(LOOKBACK)..=*mark);
        let hits = searched.filter(|index| self.0.contains(&prefixes[*index]));
        let read = hits.map(|index| prefixes[index].len()).max().unwrap_or(0);
        self.0
            .extend(marks.iter().map(|mark| prefixes[*mark].clone()));
        (read, prefix.len())
    }
}

fn tool(name: &str) -> Tool {
    Tool::dynamic(
        name,
        json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
    )
    .description("Looks something up.")
    .effects(Effects::ReadOnly)
    .handler(|args: Value, _: ToolContext| async move {
        format!("The value of {} is known. ", args["n"]).repeat(20)
    })
    .build()
    .unwrap()
}

fn call(turn: usize, number: usize) -> Value {
    json!({ "type": "tool_use", "id": format!("toolu_{turn}_{number}"), "name": "find", "input": { "n": number } })
}

/// Runs a conversation of ten turns. Returns the requests.
async fn conversation(options: Options) -> Vec<Value> {
    let mut answers = Vec::new();
    for turn in 0..10 {
        // The calls and results of one response can be more blocks than the provider searches.
        let count = if turn == 5 { 15 } else { 2 };
        let thinking =
            json!({ "type": "thinking", "thinking": "Let me see.", "signature": "c2ln" });
        let mut blocks = vec![thinking, json!({ "type": "text", "text": "I will look." })];
        blocks.extend((0..count).map(|number| call(turn, number)));
        answers.push(stream(&blocks, "tool_use"));
        let text = json!({ "type": "text", "text": format!("Answer {turn}. ").repeat(10) });
        answers.push(stream(&[text], "end_turn"));
    }
    let server = Server::script(answers).await.unwrap();
    let model = builder(&server.url()).options(options).build().unwrap();
    let runner = turnwright_core::runner(model)
        .instructions("You are a helpful assistant. ".repeat(20))
        .tools([tool("find"), tool("search")])
        .storage(storage_of(Arc::new(MemoryStore::default())))
        .build()
        .unwrap();
    for turn in 0..10 {
        let input = TurnInput::new(format!("Question {turn}?")).conversation("c");
        runner.run(input).await.into_answer().unwrap();
    }
    server
        .requests()
        .iter()
        .map(|request| request.json().unwrap())
        .collect()
}

#[tokio::test]
async fn nearly_all_of_each_next_request_is_a_cached_prefix() {
    let requests = conversation(Options::new()).await;
    assert_eq!(requests.len(), 20);
    let mut cache = Cache::default();
    let (mut read, mut all) = (0, 0);
    for (index, body) in requests.iter().enumerate() {
        let (cached, total) = cache.serve(body);
        let percent = 100 * cached / total;
        crate::say(format_args!(
            "request {index}: {cached} of {total} bytes cached ({percent} %)"
        ));
        if index == 0 {
            assert_eq!(cached, 0);
            continue;
        }
        read += cached;
        all += total;
        // Everything up to the end of the previous request.
        let previous = Cache::default().serve(&requests[index - 1]).1;
        assert_eq!(cached, previous, "request {index}");
    }
    let percent = 100 * read / all;
    crate::say(format_args!(
        "10 turns: {read} of {all} bytes cached after the first request ({percent} %)"
    ));
    assert!(percent > 80, "{percent}");
}

#[tokio::test]
async fn requests_have_no_marks_if_caching_is_disabled() {
    for options in [
        Options::new().prompt_caching(false),
        Options::new().cache_control(Value::Null),
    ] {
        let requests = conversation(options).await;
        for body in requests {
            assert!(!body.to_string().contains("cache_control"));
            assert!(!body.to_string().contains("prompt_caching"));
        }
    }
}

#[tokio::test]
async fn marks_of_the_application_count_towards_the_limit() {
    let search = json!({ "type": "web_search_20250305", "name": "web_search", "cache_control": { "type": "ephemeral", "ttl": "1h" } });
    let control = json!({ "type": "ephemeral", "ttl": "1h" });
    let options = Options::new()
        .cache_control(control.clone())
        .provider_tool(search)
        .unwrap();
    let requests = conversation(options).await;
    let body = requests.last().unwrap();
    assert_eq!(body["cache_control"], control);
    assert_eq!(body.to_string().matches("\"cache_control\":").count(), 4);
    // A longer lifetime must not follow a shorter one.
    assert_eq!(body.to_string().matches("\"ttl\":\"1h\"").count(), 4);
}
