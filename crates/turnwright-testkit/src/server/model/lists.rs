//! Lists of models: one, `scripted`.

use serde_json::json;

use super::protocol::Protocol;
use crate::server::Answer;

/// Returns the list of models in the form of the protocol.
pub(super) fn models(protocol: Protocol) -> Answer {
    let list = match protocol {
        Protocol::ChatCompletions | Protocol::Responses => {
            let model = json!({ "id": "scripted", "object": "model", "created": 1_700_000_000, "owned_by": "turnwright" });
            json!({ "object": "list", "data": [model] })
        }
        Protocol::Anthropic => {
            let model = json!({
                "type": "model", "id": "scripted", "display_name": "Scripted", "created_at": "2024-01-01T00:00:00Z",
            });
            json!({ "data": [model], "has_more": false, "first_id": "scripted", "last_id": "scripted" })
        }
        Protocol::Gemini => {
            let model = json!({
                "name": "models/scripted",
                "version": "1",
                "displayName": "Scripted",
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            });
            json!({ "models": [model] })
        }
        Protocol::Ollama => {
            let model = json!({
                "name": "scripted",
                "model": "scripted",
                "modified_at": "2024-01-01T00:00:00Z",
                "size": 1_000_000,
                "digest": "0000000000000000000000000000000000000000000000000000000000000000",
                "details": { "format": "gguf", "family": "scripted", "parameter_size": "1M", "quantization_level": "F16" },
            });
            json!({ "models": [model] })
        }
    };
    Answer::json(200, list)
}
