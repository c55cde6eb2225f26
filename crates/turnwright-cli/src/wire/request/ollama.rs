//! Requests of Ollama.

use serde_json::Value;

use super::chat_completions::{read_messages, tool};
use super::{RecordedRequest, list};

pub(super) fn read(body: &Value, request: &mut RecordedRequest) {
    // Streaming is on by default.
    request.streams = body.get("stream") != Some(&false.into());
    read_messages(body, request);
    request.tools = list(body, "tools").iter().map(tool).collect();
}
