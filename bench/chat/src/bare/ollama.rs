//! Ollama.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Arguments, CallResult, Failure, Reply, Usage, Wire};
use crate::tools::{QUESTION, SYSTEM};

pub(crate) struct Ollama;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    tools: &'a [Value],
    messages: &'a [Message],
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
        content: String,
        tool_calls: Vec<Call>,
    },
    Tool {
        tool_name: String,
        tool_call_id: String,
        content: String,
    },
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Call {
    id: String,
    function: Function,
}

#[derive(Deserialize, Serialize)]
struct Function {
    name: String,
    arguments: Value,
}

#[derive(Deserialize)]
struct Line {
    message: LineMessage,
    done: bool,
    #[serde(default)]
    prompt_eval_count: u64,
    #[serde(default)]
    eval_count: u64,
}

#[derive(Deserialize)]
struct LineMessage {
    content: String,
    #[serde(default)]
    tool_calls: Vec<Call>,
}

impl Wire for Ollama {
    type Message = Message;

    const PATH: &'static str = "/api/chat";
    const PREFIX: &'static [u8] = b"";

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
            tools,
            messages,
        })
    }

    fn read(reply: &mut Reply, data: &[u8], on_text: &mut impl FnMut(&str)) -> Result<(), Failure> {
        let line: Line = serde_json::from_slice(data)?;
        reply.push_text(&line.message.content, on_text);
        let calls = line.message.tool_calls.into_iter();
        reply.calls.extend(calls.map(|call| super::Call {
            id: call.id,
            name: call.function.name,
            arguments: Arguments::Object(call.function.arguments),
            signature: None,
        }));
        if line.done {
            reply.finished = true;
            reply.usage = Usage {
                input_tokens: line.prompt_eval_count,
                output_tokens: line.eval_count,
            };
        }
        Ok(())
    }

    fn extend(messages: &mut Vec<Message>, reply: Reply, results: Vec<CallResult>) {
        let calls = reply.calls.into_iter().map(|call| Call {
            id: call.id,
            function: Function {
                name: call.name,
                arguments: call.arguments.into_object(),
            },
        });
        messages.push(Message::Assistant {
            content: reply.text,
            tool_calls: calls.collect(),
        });
        messages.extend(results.into_iter().map(|result| Message::Tool {
            tool_name: result.name,
            tool_call_id: result.id,
            content: result.output,
        }));
    }
}
