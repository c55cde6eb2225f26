//! Checks that a prompt fits the context window of the model.

use std::sync::Arc;

use turnwright_core::artifact::text::TokenCount;
use turnwright_core::{Error, ErrorCode};

use super::parameters::Parameters;
use super::server::Server;
use super::wire_message::WireMessage;

/// The tokens of a message besides its text.
const TOKENS_PER_MESSAGE: u64 = 4;

/// Rejects a prompt that does not fit, if the context window is known.
pub(super) fn check(
    server: &Server,
    parameters: &Parameters,
    tools: &[Arc<str>],
    messages: &[&WireMessage],
) -> Result<(), Error> {
    let model = parameters.model_name();
    let known = || known(server.codec.info().windows, base_name(model));
    let Some(window) = server.settings.window.or_else(known) else {
        return Ok(());
    };
    let name = base_name(model);
    let tools: u64 = tools
        .iter()
        .map(|tool| TokenCount::of_text(tool, name).tokens)
        .sum();
    let text: u64 = messages
        .iter()
        .map(|message| message.tokens(name) + TOKENS_PER_MESSAGE)
        .sum();
    let answer = parameters.settings.max_output_tokens.unwrap_or(0);
    let all = tools.saturating_add(text).saturating_add(answer);
    if all <= window {
        return Ok(());
    }
    let answer = match answer {
        0 => String::new(),
        tokens => format!(", and its answer may have {tokens}"),
    };
    let message = format!(
        "the prompt has about {} tokens ({text} of messages, {tools} of tools){answer}; `{model}` takes {window} in all: add `.dispatch_input(compact({window}))` to the runner, load less of the conversation (`.history(History::last(n))`), \
         show fewer tools, or say with `context_window` that it takes more",
        text.saturating_add(tools)
    );
    Err(Error::new(ErrorCode::CONTEXT_WINDOW_EXCEEDED, message))
}

/// Returns what is known about the tokens of a model. The longest prefix of its name wins.
pub(crate) fn known(windows: &[(&str, u64)], name: &str) -> Option<u64> {
    let fits = windows.iter().filter(|(known, _)| name.starts_with(known));
    let longest = fits.max_by_key(|(known, _)| known.len());
    longest.map(|(_, window)| *window)
}

/// Returns the name without a gateway's prefix.
fn base_name(model: &str) -> &str {
    model.strip_prefix("openai/").unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use super::{base_name, known};

    const WINDOWS: &[(&str, u64)] = &[
        ("gpt-4", 8_192),
        ("gpt-4-turbo", 128_000),
        ("gpt-4o", 128_000),
        ("gpt-4.1", 1_047_576),
        ("o4-mini", 200_000),
    ];

    #[test]
    fn context_windows_are_looked_up_by_model_name() {
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
            assert_eq!(known(WINDOWS, base_name(model)), window, "{model}");
        }
    }
}
