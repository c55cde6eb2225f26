//! Gemini.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Arguments, Call, CallResult, Failure, Reply, Usage, Wire};
use crate::tools::{QUESTION, SYSTEM};

pub(crate) struct Gemini;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    system_instruction: Instruction,
    tools: [Tools<'a>; 1],
    contents: &'a [Content],
}

#[derive(Serialize)]
struct Instruction {
    parts: [InstructionPart; 1],
}

#[derive(Serialize)]
struct InstructionPart {
    text: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: &'a [Value],
}

#[derive(Serialize)]
pub(crate) struct Content {
    role: &'static str,
    parts: Vec<Part>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    function_response: Option<FunctionResponse>,
}

#[derive(Deserialize, Serialize)]
struct FunctionCall {
    name: String,
    args: Value,
}

#[derive(Serialize)]
struct FunctionResponse {
    name: String,
    response: Response,
}

#[derive(Serialize)]
struct Response {
    result: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    candidates: Vec<Candidate>,
    usage_metadata: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Parts,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Parts {
    parts: Vec<Part>,
}

impl Wire for Gemini {
    type Message = Content;

    const PATH: &'static str = "/models/m:streamGenerateContent?alt=sse";

    fn tool(name: &str, description: &str, input_schema: &Value) -> Value {
        json!({ "name": name, "description": description, "parametersJsonSchema": input_schema })
    }

    fn begin() -> Vec<Content> {
        vec![Content {
            role: "user",
            parts: vec![Part {
                text: Some(QUESTION.to_owned()),
                ..Part::default()
            }],
        }]
    }

    fn body(tools: &[Value], contents: &[Content]) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Request {
            system_instruction: Instruction {
                parts: [InstructionPart { text: SYSTEM }],
            },
            tools: [Tools {
                function_declarations: tools,
            }],
            contents,
        })
    }

    fn read(reply: &mut Reply, data: &[u8], on_text: &mut impl FnMut(&str)) -> Result<(), Failure> {
        let chunk: Chunk = serde_json::from_slice(data)?;
        if let Some(usage) = chunk.usage_metadata {
            reply.usage = usage;
        }
        let Some(candidate) = chunk.candidates.into_iter().next() else {
            return Ok(());
        };
        for part in candidate.content.parts {
            if let Some(text) = part.text {
                reply.push_text(&text, on_text);
            }
            if let Some(call) = part.function_call {
                reply.calls.push(Call {
                    id: String::new(),
                    name: call.name,
                    arguments: Arguments::Object(call.args),
                    signature: part.thought_signature,
                });
            }
        }
        reply.finished |= candidate.finish_reason.is_some();
        Ok(())
    }

    fn extend(contents: &mut Vec<Content>, reply: Reply, results: Vec<CallResult>) {
        let mut parts = Vec::new();
        if !reply.text.is_empty() {
            parts.push(Part {
                text: Some(reply.text),
                ..Part::default()
            });
        }
        parts.extend(reply.calls.into_iter().map(|call| Part {
            function_call: Some(FunctionCall {
                name: call.name,
                args: call.arguments.into_object(),
            }),
            thought_signature: call.signature,
            ..Part::default()
        }));
        contents.push(Content {
            role: "model",
            parts,
        });
        let parts = results.into_iter().map(|result| Part {
            function_response: Some(FunctionResponse {
                name: result.name,
                response: Response {
                    result: result.output,
                },
            }),
            ..Part::default()
        });
        contents.push(Content {
            role: "user",
            parts: parts.collect(),
        });
    }
}
