//! Anthropic Messages.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CallResult, Failure, Reply, Usage, Wire};
use crate::tools::{QUESTION, SYSTEM};

pub(crate) struct Anthropic;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    system: &'a str,
    tools: &'a [Value],
    messages: &'a [Message],
}

#[derive(Serialize)]
pub(crate) struct Message {
    role: &'static str,
    content: Vec<Block>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: String,
    },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        content_block: Started,
    },
    ContentBlockDelta {
        delta: Delta,
    },
    MessageDelta {
        usage: Usage,
    },
    MessageStop,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Usage,
}

#[derive(Deserialize)]
struct Started {
    id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    text: Option<String>,
    partial_json: Option<String>,
}

impl Wire for Anthropic {
    type Message = Message;

    const PATH: &'static str = "/messages";

    fn tool(name: &str, description: &str, input_schema: &Value) -> Value {
        json!({ "name": name, "description": description, "input_schema": input_schema })
    }

    fn begin() -> Vec<Message> {
        vec![Message {
            role: "user",
            content: vec![Block::Text {
                text: QUESTION.to_owned(),
            }],
        }]
    }

    fn body(tools: &[Value], messages: &[Message]) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Request {
            model: "m",
            max_tokens: 4_096,
            stream: true,
            system: SYSTEM,
            tools,
            messages,
        })
    }

    fn read(reply: &mut Reply, data: &[u8], on_text: &mut impl FnMut(&str)) -> Result<(), Failure> {
        match serde_json::from_slice(data)? {
            Event::MessageStart { message } => reply.usage = message.usage,
            Event::ContentBlockStart { content_block } => {
                if let (Some(id), Some(name)) = (content_block.id, content_block.name) {
                    reply.begin_call(id, name);
                }
            }
            Event::ContentBlockDelta { delta } => {
                if let Some(text) = delta.text {
                    reply.push_text(&text, on_text);
                }
                // Blocks are streamed one after the other.
                if let Some(piece) = delta.partial_json {
                    reply.push_arguments(reply.calls.len().saturating_sub(1), &piece);
                }
            }
            Event::MessageDelta { usage } => reply.usage.output_tokens = usage.output_tokens,
            Event::MessageStop => reply.finished = true,
            Event::Other => {}
        }
        Ok(())
    }

    fn extend(messages: &mut Vec<Message>, reply: Reply, results: Vec<CallResult>) {
        let mut content = Vec::new();
        if !reply.text.is_empty() {
            content.push(Block::Text { text: reply.text });
        }
        content.extend(reply.calls.into_iter().map(|call| Block::ToolUse {
            id: call.id,
            name: call.name,
            input: call.arguments.into_object(),
        }));
        messages.push(Message {
            role: "assistant",
            content,
        });
        let content = results.into_iter().map(|result| Block::ToolResult {
            tool_use_id: result.id,
            content: result.output,
        });
        messages.push(Message {
            role: "user",
            content: content.collect(),
        });
    }
}
