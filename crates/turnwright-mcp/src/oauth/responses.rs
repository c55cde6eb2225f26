//! Responses of authorization servers. `rmcp` and its parsers get only the fields that the protocol defines, with their types checked:
//! they show what they cannot read in errors and logs, and a response contains secrets.

use serde_json::{Map, Value, json};

/// The error codes of RFC 6749, 7591 and 8707. Any other text may be an echo of a secret.
const ERRORS: &[&str] = &[
    "access_denied",
    "invalid_client",
    "invalid_client_metadata",
    "invalid_grant",
    "invalid_redirect_uri",
    "invalid_request",
    "invalid_scope",
    "invalid_software_statement",
    "invalid_target",
    "server_error",
    "temporarily_unavailable",
    "unapproved_software_statement",
    "unauthorized_client",
    "unsupported_grant_type",
    "unsupported_response_type",
];

/// Returns an error code if it is one that the protocols define.
pub(super) fn error_code(code: &str) -> Option<&'static str> {
    ERRORS.iter().copied().find(|known| *known == code)
}

/// Returns the body of an error with nothing but its code.
pub(super) fn error(body: &[u8]) -> Value {
    let body = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let code = body.get("error").and_then(Value::as_str);
    json!({ "error": code.and_then(error_code).unwrap_or("unknown_error") })
}

/// Returns the body of a response with tokens.
///
/// # Errors
/// Returns what is wrong with it, without its values.
pub(super) fn tokens(body: &[u8]) -> Result<Value, String> {
    let body = object(body)?;
    let kind = text(&body, "token_type")?;
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err("the token that it sent is not a bearer token".to_owned());
    }
    let token = token(&body, "access_token")?.ok_or("it sent no `access_token`")?;
    // `null` is the same as no field to the parser.
    Ok(json!({
        "access_token": token,
        "token_type": "bearer",
        "refresh_token": self::token(&body, "refresh_token")?,
        "scope": text(&body, "scope")?,
        "expires_in": body.get("expires_in").and_then(seconds),
    }))
}

/// Returns the body of a registration.
///
/// # Errors
/// Returns what is wrong with it, without its values.
pub(super) fn registration(body: &[u8]) -> Result<Value, String> {
    let body = object(body)?;
    let id = text(&body, "client_id")?.filter(|id| !id.is_empty());
    let id = id.ok_or("it sent no `client_id`")?;
    let secret = text(&body, "client_secret")?;
    Ok(json!({ "client_id": id, "client_secret": secret, "redirect_uris": [] }))
}

fn object(body: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err("its answer is not a JSON object".to_owned()),
    }
}

fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}` of its answer is not a string")),
    }
}

/// Returns a token. It must fit into a header.
fn token(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    let token = text(fields, name)?.filter(|token| !token.is_empty());
    match &token {
        Some(token) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(format!("`{name}` of its answer has invalid characters"))
        }
        _ => Ok(token),
    }
}

/// Returns a number of seconds. Some servers send it as a string.
fn seconds(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64(),
    }
}
