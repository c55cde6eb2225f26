//! Chat Completions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallResult, Failure, Reply, Usage, Wire};
use crate::tools::{QUESTION, SYSTEM};

pub(crate) struct ChatCompletions;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    tools: &'a [Value],
    messages: &'a [Message],
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum Message {
    System {
        content: &'static str,
    },
    User {
        content: &'static str,
    },
    Assistant {
        #[serde(skip_serializing_if = "String::is_empty")]
        content: String,
        tool_calls: Vec<Call>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Serialize)]
pub(crate) struct Call {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function,
}

#[derive(Serialize)]
struct Function {
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: usize,
    id: Option<String>,
    function: FunctionDelta,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

impl Wire for ChatCompletions {
    type Message = Message;

    const PATH: &'static str = "/chat/completions";

    fn tool(name: &str, description: &str, input_schema: &Value) -> Value {
        super::function_tool(name, description, input_schema)
    }

    fn begin() -> Vec<Message> {
        vec![
            Message::System { content: SYSTEM },
            Message::User { content: QUESTION },
        ]
    }

    fn body(tools: &[Value], messages: &[Message]) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Request {
            model: "m",
            stream: true,
            stream_options: StreamOptions {
                include_usage: true,
            },
            tools,
            messages,
        })
    }

    fn read(reply: &mut Reply, data: &[u8], on_text: &mut impl FnMut(&str)) -> Result<(), Failure> {
        if data == b"[DONE]" {
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_slice(data)?;
        if let Some(usage) = chunk.usage {
            reply.usage = usage;
        }
        let Some(choice) = chunk.choices.into_iter().next() else {
            return Ok(());
        };
        reply.push_text(&choice.delta.content.unwrap_or_default(), on_text);
        for piece in choice.delta.tool_calls.into_iter().flatten() {
            if piece.index >= reply.calls.len() {
                let name = piece.function.name.unwrap_or_default();
                reply.begin_call(piece.id.unwrap_or_default(), name);
            }
            reply.push_arguments(piece.index, &piece.function.arguments.unwrap_or_default());
        }
        reply.finished |= choice.finish_reason.is_some();
        Ok(())
    }

    fn extend(messages: &mut Vec<Message>, reply: Reply, results: Vec<CallResult>) {
        let calls = reply.calls.into_iter().map(|call| Call {
            id: call.id,
            kind: "function",
            function: Function {
                name: call.name,
                arguments: call.arguments.into_text(),
            },
        });
        messages.push(Message::Assistant {
            content: reply.text,
            tool_calls: calls.collect(),
        });
        messages.extend(results.into_iter().map(|result| Message::Tool {
            tool_call_id: result.id,
            content: result.output,
        }));
    }
}
