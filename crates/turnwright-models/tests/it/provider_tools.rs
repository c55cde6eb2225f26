//! What tools of the provider read counts for the policies of later calls.

use serde_json::{Value, json};
use turnwright_core::tool::ToolBuilder;
use turnwright_core::tool::approval::no_exfiltration;
use turnwright_core::{ModelSettings, Tool, ToolContext};
use turnwright_models::Protocol;
use turnwright_models::retry::RetryPolicy;

use crate::script::{Answer, Script};

/// Returns a response that calls a tool, after a search of the provider if the response shows it.
fn calling(protocol: Protocol, tool: &str, searched: bool) -> Value {
    match protocol {
        Protocol::Responses => {
            let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
            let call = json!({ "type": "function_call", "id": "fc_1", "call_id": tool, "name": tool, "arguments": "{}" });
            let output: Vec<Value> = searched
                .then_some(search)
                .into_iter()
                .chain([call])
                .collect();
            json!({ "object": "response", "id": "resp_1", "status": "completed", "output": output })
        }
        Protocol::Anthropic => {
            let search = [
                json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} }),
                json!({ "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [] }),
            ];
            let call = json!({ "type": "tool_use", "id": tool, "name": tool, "input": {} });
            let search = search.into_iter().filter(|_| searched);
            let content: Vec<Value> = search.chain([call]).collect();
            json!({ "type": "message", "id": "msg_1", "content": content, "stop_reason": "tool_use" })
        }
        Protocol::Gemini => {
            let parts = json!([{ "functionCall": { "name": tool, "args": {} } }]);
            let mut candidate = json!({ "content": { "parts": parts }, "finishReason": "STOP" });
            if searched {
                candidate["groundingMetadata"] =
                    json!({ "groundingChunks": [{ "web": { "uri": "https://pages.example" } }] });
            }
            json!({ "candidates": [candidate] })
        }
        _ => {
            let call = json!({ "id": tool, "type": "function", "function": { "name": tool, "arguments": "{}" } });
            let mut message = json!({ "tool_calls": [call] });
            if searched {
                message["annotations"] = json!([{ "type": "url_citation", "url_citation": {} }]);
            }
            json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] })
        }
    }
}

fn tool(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" }))
        .description("A tool.")
        .trusted(true)
        .handler(|_: Value, _: ToolContext| async { "1234" })
}

/// Runs a turn whose first response may show a search and reads private data. Returns whether the second could send it out.
async fn sends_out(protocol: Protocol, options: Value, searched: bool) -> bool {
    let answers = [
        calling(protocol, "notes", searched),
        calling(protocol, "post", false),
    ];
    let model = protocol
        .builder_at(crate::base_url(protocol, "http://127.0.0.1:9"))
        .model("m")
        .settings(ModelSettings::new().provider(protocol.name(), options))
        .transport(Script::new(answers.map(Answer::Complete)))
        .retry(RetryPolicy::never())
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model)
        .tool(tool("notes").reads_private(true).build().unwrap())
        .tool(tool("post").sends_out(true).build().unwrap())
        .policy(no_exfiltration())
        .build()
        .unwrap();
    // The script ends after the second call.
    let outcome = runner.run("Go.").await;
    let calls: Vec<_> = outcome.tool_calls().collect();
    assert_eq!(calls.len(), 2, "{protocol}: {:?}", outcome.status);
    assert!(!calls[0].is_error(), "{protocol}");
    assert_eq!(calls[1].is_error(), calls[1].denial().is_some());
    calls[1].denial().is_none()
}

#[tokio::test]
async fn search_that_the_response_shows_counts_for_later_calls() {
    // Ollama has no tools of its own.
    let others = |protocol: &Protocol| *protocol != Protocol::Ollama;
    for protocol in Protocol::ALL.into_iter().filter(others) {
        assert!(sends_out(protocol, json!({}), false).await, "{protocol}");
        assert!(!sends_out(protocol, json!({}), true).await, "{protocol}");
    }
}

/// Servers may search without a word in the response.
#[tokio::test]
async fn search_that_a_chat_completions_request_allows_counts_for_later_calls() {
    for options in [
        json!({ "web_search_options": {} }),
        json!({ "search_parameters": { "mode": "auto" } }),
        json!({ "plugins": [{ "id": "web" }] }),
        json!({ "provider_tools": [{ "type": "browser_search" }] }),
        json!({ "provider_tools": [{ "type": "mcp" }] }),
    ] {
        let sent = sends_out(Protocol::ChatCompletions, options.clone(), false).await;
        assert!(!sent, "{options}");
    }
    for options in [
        json!({ "web_search_options": null }),
        json!({ "provider_tools": [] }),
    ] {
        let sent = sends_out(Protocol::ChatCompletions, options.clone(), false).await;
        assert!(sent, "{options}");
    }
}
