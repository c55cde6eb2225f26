//! OpenAI Responses.

use serde_json::{Value, json};

use super::{WORD, call_id, pieces};

/// The events of a stream, and the items of its output.
#[derive(Default)]
struct Stream {
    events: Vec<String>,
    output: Vec<Value>,
}

pub(super) fn calls(tool: &str, first: usize, arguments: &[Value]) -> Vec<String> {
    let mut stream = Stream::begin();
    for (index, arguments) in arguments.iter().map(Value::to_string).enumerate() {
        let id = format!("fc_0123456789abcdef{:02}", first + index);
        let item = |status: &str, arguments: &str| {
            json!({
                "id": id,
                "type": "function_call",
                "status": status,
                "call_id": call_id(first + index),
                "name": tool,
                "arguments": arguments,
            })
        };
        stream.added(index, &item("in_progress", ""));
        let kind = "response.function_call_arguments";
        for delta in pieces(&arguments) {
            let fields = json!({ "item_id": id, "output_index": index, "delta": delta });
            stream.push(&format!("{kind}.delta"), fields);
        }
        let fields = json!({ "item_id": id, "output_index": index, "arguments": arguments });
        stream.push(&format!("{kind}.done"), fields);
        stream.done(index, item("completed", &arguments));
    }
    stream.end()
}

pub(super) fn answer(deltas: usize) -> Vec<String> {
    let mut stream = Stream::begin();
    let id = "msg_0123456789abcdef";
    let part = |text: &str| json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text });
    let item = |status: &str, content: Value| json!({ "id": id, "type": "message", "status": status, "role": "assistant", "content": content });
    let place = json!({ "item_id": id, "output_index": 0, "content_index": 0 });
    let placed = |name: &str, value: Value| {
        let mut fields = place.clone();
        fields[name] = value;
        fields
    };
    stream.added(0, &item("in_progress", json!([])));
    stream.push("response.content_part.added", placed("part", part("")));
    for _ in 0..deltas {
        let mut fields = placed("delta", WORD.into());
        fields["logprobs"] = json!([]);
        stream.push("response.output_text.delta", fields);
    }
    let text = WORD.repeat(deltas);
    stream.push(
        "response.output_text.done",
        placed("text", text.as_str().into()),
    );
    stream.push("response.content_part.done", placed("part", part(&text)));
    stream.done(0, item("completed", json!([part(&text)])));
    stream.end()
}

impl Stream {
    fn begin() -> Self {
        let mut stream = Stream::default();
        for kind in ["response.created", "response.in_progress"] {
            let response = stream.response("in_progress", &Value::Null);
            stream.push(kind, json!({ "response": response }));
        }
        stream
    }

    fn added(&mut self, index: usize, item: &Value) {
        let fields = json!({ "output_index": index, "item": item });
        self.push("response.output_item.added", fields);
    }

    fn done(&mut self, index: usize, item: Value) {
        let fields = json!({ "output_index": index, "item": item });
        self.push("response.output_item.done", fields);
        self.output.push(item);
    }

    fn end(mut self) -> Vec<String> {
        let usage = json!({
            "input_tokens": 321,
            "input_tokens_details": { "cached_tokens": 128 },
            "output_tokens": 45,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": 366,
        });
        let response = self.response("completed", &usage);
        self.push("response.completed", json!({ "response": response }));
        self.events
    }

    fn push(&mut self, kind: &str, mut data: Value) {
        data["type"] = kind.into();
        data["sequence_number"] = self.events.len().into();
        self.events.push(format!("event: {kind}\ndata: {data}\n\n"));
    }

    /// Returns the response as it is now. Servers repeat the settings of the request.
    fn response(&self, status: &str, usage: &Value) -> Value {
        json!({
            "id": "resp_0123456789abcdef0123456789abcdef",
            "object": "response",
            "created_at": 1_770_000_000,
            "status": status,
            "background": false,
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "max_output_tokens": null,
            "metadata": {},
            "model": "m",
            "output": self.output,
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "reasoning": { "effort": null, "summary": null },
            "service_tier": "default",
            "store": false,
            "temperature": 1.0,
            "text": { "format": { "type": "text" } },
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": usage,
            "user": null,
        })
    }
}
