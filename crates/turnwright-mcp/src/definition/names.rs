//! The names under which a model sees the tools of servers.

use turnwright_core::call::digest_of;

/// Maximum length of a tool name, the limit that all providers support.
const MAX_NAME: usize = 64;

/// Maximum length of an alias.
const MAX_ALIAS: usize = 24;

/// How many characters of a digest make a shortened name unique.
const DIGEST: usize = 8;

/// Checks the alias of a server.
///
/// # Errors
/// Returns what is wrong with it.
pub(crate) fn check_alias(alias: &str) -> Result<(), String> {
    let wrong = if alias.is_empty() {
        return Err("the alias of an MCP server is empty: give it a name".to_owned());
    } else if alias.len() > MAX_ALIAS {
        format!("has more than {MAX_ALIAS} characters")
    } else if !alias.chars().all(is_allowed) {
        "may contain only [A-Za-z0-9_-]".to_owned()
    } else if alias.contains("__") || alias.ends_with('_') {
        // Otherwise two servers could give the same name to different tools.
        "must not contain `__` or end with `_`".to_owned()
    } else {
        return Ok(());
    };
    Err(format!("the alias `{alias}` {wrong}"))
}

fn is_allowed(ch: char) -> bool {
    ch.is_ascii_alphanumeric() || ch == '_' || ch == '-'
}

/// Returns the name of a tool for models: `alias__tool`. Characters that providers reject become `_`. A name that is too long is cut
/// and ends with a part of its digest.
///
/// ```
/// assert_eq!(turnwright_mcp::exposed_name("files", "read.file"), "files__read_file");
/// ```
#[must_use]
pub fn exposed_name(alias: &str, name: &str) -> String {
    let full = format!("{alias}__{}", name.replace(|ch| !is_allowed(ch), "_"));
    if full.len() <= MAX_NAME {
        return full;
    }
    let digest = digest_of(&name.into());
    let kept = full.chars().take(MAX_NAME - DIGEST - 1).chain(['_']);
    kept.chain(digest.chars().take(DIGEST)).collect()
}
