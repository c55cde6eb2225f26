//! Finds the secrets in a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

/// Headers whose values are not secret: their words occur in ordinary text.
const PUBLIC_HEADERS: [&str; 13] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "anthropic-beta",
    "anthropic-version",
    "cache-control",
    "connection",
    "content-type",
    "http-referer",
    "openai-beta",
    "referer",
    "user-agent",
    "x-title",
];

/// Query parameters whose values are not secret.
const PUBLIC_QUERY: [&str; 1] = ["api-version"];

/// Returns the secrets in a request: the values of its headers, and the user, password and query of its URL.
///
/// The scheme before a key, such as `Bearer`, is not part of it. Public headers and query parameters, such as
/// `content-type` and `api-version`, are skipped.
pub fn credentials<'h>(
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    url: &Url,
) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in headers {
        if !PUBLIC_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            of_header(value, &mut found);
        }
    }
    of_url(url, &mut found);
    for (name, value) in url.query_pairs() {
        if !PUBLIC_QUERY.contains(&name.to_ascii_lowercase().as_str()) {
            found.push(value.into_owned());
        }
    }
    found.retain(|secret| !secret.is_empty());
    found
}

fn of_header(value: &str, found: &mut Vec<String>) {
    let value = value.trim();
    let Some((scheme, key)) = value.split_once(' ') else {
        found.push(value.to_owned());
        return;
    };
    let key = key.trim();
    found.push(key.to_owned());
    let schemes = ["basic", "bearer", "token", "apikey", "key"];
    if !schemes.contains(&scheme.to_ascii_lowercase().as_str()) {
        found.push(value.to_owned());
    }
    if scheme.eq_ignore_ascii_case("basic")
        && let Some(text) = STANDARD.decode(key).ok()
        && let Ok(text) = String::from_utf8(text)
    {
        found.extend(
            text.split_once(':')
                .map(|(_, password)| password.to_owned()),
        );
        found.push(text);
    }
}

/// Adds the user and the password of a URL, both as written and decoded.
fn of_url(url: &Url, found: &mut Vec<String>) {
    let (name, password) = (url.username(), url.password().unwrap_or_default());
    let (plain_name, plain_password) = (decoded(name), decoded(password));
    if !password.is_empty() {
        // As sent: base64 of both together.
        found.push(format!("{plain_name}:{plain_password}"));
    }
    found.extend([
        name.to_owned(),
        password.to_owned(),
        plain_name,
        plain_password,
    ]);
}

/// Returns a percent-decoded part of a URL.
fn decoded(part: &str) -> String {
    let part = part.replace('+', "%2B").replace('&', "%26");
    let part = part.replace('=', "%3D");
    let first = url::form_urlencoded::parse(part.as_bytes()).next();
    first.map(|(name, _)| name.into_owned()).unwrap_or_default()
}
