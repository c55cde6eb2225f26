//! OpenAI Responses.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CallResult, Failure, Reply, Usage, Wire};
use crate::tools::{QUESTION, SYSTEM};

pub(crate) struct Responses;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    instructions: &'a str,
    tools: &'a [Value],
    input: &'a [Item],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Item {
    Message {
        role: &'static str,
        content: &'static str,
    },
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: String,
    },
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_text.delta")]
    Text { delta: String },
    #[serde(rename = "response.output_item.added")]
    Added { item: Added },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { delta: String },
    #[serde(rename = "response.completed")]
    Completed { response: Completed },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Added {
    call_id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Completed {
    usage: Usage,
}

impl Wire for Responses {
    type Message = Item;

    const PATH: &'static str = "/responses";

    fn tool(name: &str, description: &str, input_schema: &Value) -> Value {
        json!({
            "type": "function",
            "name": name,
            "description": description,
            "parameters": input_schema,
            "strict": false,
        })
    }

    fn begin() -> Vec<Item> {
        vec![Item::Message {
            role: "user",
            content: QUESTION,
        }]
    }

    fn body(tools: &[Value], input: &[Item]) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Request {
            model: "m",
            stream: true,
            store: false,
            instructions: SYSTEM,
            tools,
            input,
        })
    }

    fn read(reply: &mut Reply, data: &[u8], on_text: &mut impl FnMut(&str)) -> Result<(), Failure> {
        match serde_json::from_slice(data)? {
            Event::Text { delta } => reply.push_text(&delta, on_text),
            Event::Added { item } => {
                if let (Some(id), Some(name)) = (item.call_id, item.name) {
                    reply.begin_call(id, name);
                }
            }
            // Items are streamed one after the other.
            Event::Arguments { delta } => {
                reply.push_arguments(reply.calls.len().saturating_sub(1), &delta);
            }
            Event::Completed { response } => {
                reply.usage = response.usage;
                reply.finished = true;
            }
            Event::Other => {}
        }
        Ok(())
    }

    fn extend(input: &mut Vec<Item>, reply: Reply, results: Vec<CallResult>) {
        input.extend(reply.calls.into_iter().map(|call| Item::FunctionCall {
            call_id: call.id,
            name: call.name,
            arguments: call.arguments.into_text(),
        }));
        input.extend(results.into_iter().map(|result| Item::FunctionCallOutput {
            call_id: result.id,
            output: result.output,
        }));
    }
}
