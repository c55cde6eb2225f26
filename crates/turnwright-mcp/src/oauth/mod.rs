//! OAuth 2.1 for servers over HTTP. `rmcp` has the rules of the protocol; the requests, the addresses, the tokens and the callback
//! are here.
//!
//! A token belongs to one server. [`Authorizer`] is made for the URL of a server, asks for tokens with that server as the resource,
//! and gives a token only to a request to the origin of that URL. No other part of the crate can read a token.
//!
//! Codes, refresh tokens and client secrets belong to an issuer. [`metadata`] checks that the metadata is the issuer's own, and that they
//! are sent only to the origin of the issuer, or to one that the settings name.

mod addresses;
mod authorizer;
mod callback;
mod flow;
mod grant;
mod http;
mod metadata;
mod responses;
mod settings;
mod token_store;

#[cfg(test)]
mod tests;

pub(crate) use authorizer::Authorizer;
pub(crate) use flow::NO_PROMPT;
pub(crate) use grant::Secret;
pub use settings::{AuthorizationPrompt, OAuth};
pub use token_store::TokenStore;

/// Returns a text for people in which each URL is cut to its origin: paths and queries may contain keys. Without control characters,
/// and of limited length, because parts of it may come from the server.
fn without_paths(text: &str) -> String {
    const LIMIT: usize = 400;
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + "://".len());
        out.push_str(before);
        let in_url = |ch: char| !ch.is_whitespace() && !matches!(ch, '`' | '\'' | '"' | ',');
        let url = after.split(|ch| !in_url(ch)).next().unwrap_or_default();
        let authority = url.split(['/', '?', '#']).next().unwrap_or_default();
        // Credentials come before the host.
        out.push_str(authority.rsplit('@').next().unwrap_or_default());
        rest = after.get(url.len()..).unwrap_or_default();
    }
    out.push_str(rest);
    let printable = out.chars().map(|ch| if ch.is_control() { ' ' } else { ch });
    printable.take(LIMIT).collect()
}
