//! Whether a prompt fits into the model's context window.

use std::sync::Arc;

use turnwright_core::artifact::text::TokenCount;
use turnwright_core::{Error, ErrorCode};

use super::builder::Adapter;
use super::options::Options;
use super::write::WireMessage;

/// Windows of OpenAI's models, by the beginning of their names: the longest that fits counts.
const KNOWN: &[(&str, u64)] = &[
    ("gpt-3.5-turbo", 16_385),
    ("gpt-4", 8_192),
    ("gpt-4-turbo", 128_000),
    ("gpt-4o", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-5", 400_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
];

/// What a message costs besides its words.
const PER_MESSAGE: u64 = 4;

/// Refuses a prompt that does not fit, where it is known how much does.
pub(super) fn check<'m>(
    adapter: &Adapter,
    options: &Options,
    tools: &[Arc<str>],
    messages: impl Iterator<Item = &'m WireMessage>,
) -> Result<(), Error> {
    let model = options.model_name().unwrap_or_default();
    let Some(window) = adapter.window.or_else(|| known(model)) else {
        return Ok(());
    };
    let name = base_name(model);
    let shown = tools.iter().map(|it| TokenCount::of_text(it, name).tokens);
    let tools: u64 = shown.sum();
    let said: u64 = messages.map(|it| it.tokens(name) + PER_MESSAGE).sum();
    let answer = options.most_written();
    let all = tools.saturating_add(said).saturating_add(answer);
    if all <= window {
        return Ok(());
    }
    let answer = match answer {
        0 => String::new(),
        tokens => format!(", and its answer may have {tokens}"),
    };
    let message = format!(
        "the prompt has about {} tokens ({said} of messages, {tools} of tools){answer}; `{model}` takes {window} in all: load less of the conversation (`hydrate().last(n)`), \
         show fewer tools, or say with `context_window` that it takes more",
        said.saturating_add(tools)
    );
    Err(Error::new(ErrorCode::ContextWindow, message))
}

fn known(model: &str) -> Option<u64> {
    let name = base_name(model);
    let fits = KNOWN.iter().filter(|(known, _)| name.starts_with(known));
    let longest = fits.max_by_key(|(known, _)| known.len());
    longest.map(|(_, window)| *window)
}

/// As OpenAI calls it, where another server offers it.
fn base_name(model: &str) -> &str {
    model.strip_prefix("openai/").unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use super::known;

    #[test]
    fn the_windows_of_well_known_models_are_known_by_their_names() {
        let cases = [
            ("gpt-4", Some(8_192)),
            ("gpt-4-0613", Some(8_192)),
            ("gpt-4-turbo-2024-04-09", Some(128_000)),
            ("gpt-4o-mini", Some(128_000)),
            ("openai/gpt-4.1-nano", Some(1_047_576)),
            ("o4-mini", Some(200_000)),
            ("qwen3", None),
            ("", None),
        ];
        for (model, window) in cases {
            assert_eq!(known(model), window, "{model}");
        }
    }
}
