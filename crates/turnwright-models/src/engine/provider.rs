//! The names of providers in traces and metrics.

use url::Url;

/// The well-known values of `gen_ai.provider.name`, by the end of a host. The first match wins.
const KNOWN: [(&str, &str); 17] = [
    ("openai.com", "openai"),
    ("anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("cognitiveservices.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("inference.ai.azure.com", "azure.ai.inference"),
    ("models.ai.azure.com", "azure.ai.inference"),
    ("cohere.com", "cohere"),
    ("cohere.ai", "cohere"),
    ("deepseek.com", "deepseek"),
    ("groq.com", "groq"),
    ("mistral.ai", "mistral_ai"),
    ("perplexity.ai", "perplexity"),
    ("x.ai", "x_ai"),
    ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
];

/// Returns the value that OpenTelemetry's conventions define for the provider at this address. For a provider that they do not
/// name, they allow any other value: that of the protocol, or the host.
pub(super) fn provider(endpoint: &Url, of_protocol: Option<&'static str>) -> String {
    let host = endpoint.host_str().unwrap_or_default();
    let is_at = |(end, _): &&(&str, &str)| {
        let start = host.strip_suffix(end);
        // Only Google separates regions with a hyphen.
        let is_regional = end.ends_with("googleapis.com");
        start.is_some_and(|start| {
            start.is_empty() || start.ends_with('.') || is_regional && start.ends_with('-')
        })
    };
    let known = KNOWN.iter().find(is_at).map(|(_, name)| *name);
    let is_amazon = host.ends_with(".amazonaws.com") || host.ends_with(".api.aws");
    let is_bedrock = host.starts_with("bedrock") && is_amazon;
    let name = known.or_else(|| is_bedrock.then_some("aws.bedrock"));
    name.or(of_protocol).unwrap_or(host).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{KNOWN, Url, provider};

    fn named(url: &str) -> String {
        provider(&Url::parse(url).unwrap(), None)
    }

    #[test]
    fn known_hosts_have_the_names_of_the_conventions() {
        let cases = [
            ("https://api.openai.com/v1", "openai"),
            ("https://eu.api.openai.com/v1", "openai"),
            ("https://api.anthropic.com/v1", "anthropic"),
            (
                "https://generativelanguage.googleapis.com/v1beta",
                "gcp.gemini",
            ),
            (
                "https://us-east5-aiplatform.googleapis.com/v1",
                "gcp.vertex_ai",
            ),
            ("https://aiplatform.googleapis.com/v1", "gcp.vertex_ai"),
            ("https://me.openai.azure.com/openai/v1", "azure.ai.openai"),
            (
                "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1",
                "aws.bedrock",
            ),
            ("https://api.mistral.ai/v1", "mistral_ai"),
            ("https://api.x.ai/v1", "x_ai"),
        ];
        for (url, name) in cases {
            assert_eq!(named(url), name, "{url}");
        }
    }

    #[test]
    fn other_hosts_are_the_name() {
        for (url, host) in [
            ("http://127.0.0.1:8080/v1", "127.0.0.1"),
            ("https://openrouter.ai/api/v1", "openrouter.ai"),
            ("https://notopenai.com/v1", "notopenai.com"),
            ("https://my-openai.com/v1", "my-openai.com"),
            ("https://max-x.ai/v1", "max-x.ai"),
            ("https://openai.com.example/v1", "openai.com.example"),
            ("https://bedrock.example/v1", "bedrock.example"),
        ] {
            assert_eq!(named(url), host);
        }
        let local = Url::parse("http://127.0.0.1:11434").unwrap();
        assert_eq!(provider(&local, Some("ollama")), "ollama");
    }

    #[test]
    fn names_are_well_known_values() {
        let conventions =
            include_str!("../../../turnwright-core/tests/it/telemetry/conventions-1.41.1.json");
        let conventions: Value = serde_json::from_str(conventions).unwrap();
        let values = &conventions["attributes"]["gen_ai.provider.name"]["values"];
        let values = values.as_array().unwrap();
        for name in KNOWN.iter().map(|(_, name)| *name).chain(["aws.bedrock"]) {
            assert!(values.contains(&name.into()), "{name}");
        }
        // `gcp.gen_ai` is for clients that do not know which endpoint they use.
        for value in values.iter().filter(|value| *value != "gcp.gen_ai") {
            let is_used = KNOWN.iter().any(|(_, name)| value == name) || value == "aws.bedrock";
            assert!(is_used, "{value}");
        }
    }
}
