mod body;
mod contents;
mod decode;

use serde_json::json;

use super::{GeminiCodec, Options};
use crate::ModelBuilder;
use crate::engine::Codec as _;
use crate::engine::tests::tool;

#[test]
fn environment_and_options_are_checked() {
    let env = |name: &str| (name == "GOOGLE_API_KEY").then(|| "key-123456".to_owned());
    let model = ModelBuilder::<GeminiCodec>::from_lookup(env).model("gemini-2.5-flash");
    let model = model.build().unwrap();
    let server = &model.engine().server;
    assert!(server.endpoint.as_str().ends_with("/v1beta/models"));
    assert!(
        server
            .headers
            .iter()
            .any(|(name, _)| name == "x-goog-api-key")
    );
    let url = server
        .codec
        .url(&server.endpoint, "models/gemini-2.5-flash", true);
    assert!(
        url.as_str()
            .ends_with("/models/gemini-2.5-flash:streamGenerateContent?alt=sse"),
        "{url}"
    );
    for name in ["contents", "tools", "temperature", "maxOutputTokens"] {
        assert!(Options::new().extra(name, 1).is_err(), "{name}");
    }
    assert!(
        Options::new()
            .provider_tool(json!({ "googleSearch": {} }))
            .is_ok()
    );
    assert!(
        Options::new()
            .provider_tool(json!({ "functionDeclarations": [] }))
            .is_err()
    );
}

#[test]
fn schema_of_a_tool_is_sent_unchanged() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": ["integer", "null"], "minimum": 1 } } });
    let sent = GeminiCodec::default().tool(&tool(schema.clone()));
    let expected =
        json!({ "name": "f", "description": "Does it.", "parametersJsonSchema": schema });
    assert_eq!(sent, expected);
}
