//! Rules of Gemini: headers and fields.

mod contents;

use super::place::Place;
use super::{Checked, Known, must, tool_names};
use crate::server::ReceivedRequest;

/// Checks where the key is.
pub(super) fn check_head(request: &ReceivedRequest) -> Checked {
    let query = request.path.split_once('?').map_or("", |(_, query)| query);
    must(
        !query.split('&').any(|pair| pair.starts_with("key=")),
        "the API key must be in the header `x-goog-api-key`: logs show the query",
    )?;
    if request.header("x-goog-api-key").is_none_or(str::is_empty) {
        let message =
            "Method doesn't allow unregistered callers: the header `x-goog-api-key` is required";
        return Err((403, message.to_owned()));
    }
    Ok(())
}

pub(super) fn check(body: &Place<'_>, known: &Known<'_>) -> Checked {
    let tools = body.at("tools");
    let declarations = tools.items().map(|tool| tool.at("functionDeclarations"));
    let declarations: Vec<_> = declarations
        .flat_map(|list| Vec::from_iter(list.items()))
        .collect();
    for declaration in &declarations {
        declaration.must(
            !declaration.has("parameters"),
            "send the schema unchanged as `parametersJsonSchema`, not as `parameters`",
        )?;
    }
    let names = tool_names(declarations.into_iter())?;
    let config = body.at("toolConfig").at("functionCallingConfig");
    for name in config.at("allowedFunctionNames").items() {
        let is_known = name
            .value
            .as_str()
            .is_some_and(|name| names.contains(&name));
        name.must(
            is_known && matches!(config.text("mode"), "ANY" | "VALIDATED"),
            format_args!("{} is not allowed here", name.value),
        )?;
    }
    contents::check(body, known)
}
