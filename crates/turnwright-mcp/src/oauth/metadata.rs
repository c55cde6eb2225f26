//! What the metadata of an authorization server may claim. The MCP server chooses the document, so it must not be able to have codes,
//! refresh tokens and client secrets of another authorization server sent to itself. `rmcp` checks less.

use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;
use url::Url;

use super::addresses::Addresses;
use super::{OAuth, without_paths};

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// Checks that metadata of an authorization server was fetched from its issuer (RFC 8414 §3.3). Other documents pass.
///
/// # Errors
/// Returns which issuer the document claims, and where it was fetched.
pub(super) fn check_source(document: &Value, fetched: &Url) -> Result<(), String> {
    if document.get("token_endpoint").is_none() {
        return Ok(());
    }
    let issuer = document.get("issuer").and_then(Value::as_str);
    let issuer = issuer.ok_or("the authorization server does not name itself")?;
    if Url::parse(issuer).is_ok_and(|issuer| publishes_at(&issuer, fetched)) {
        return Ok(());
    }
    Err(format!(
        "issuer mismatch: metadata of {} claims to be of {}",
        fetched.origin().ascii_serialization(),
        without_paths(issuer)
    ))
}

/// Returns whether an issuer publishes its metadata at this URL: where RFC 8414 or OpenID Connect Discovery put it.
fn publishes_at(issuer: &Url, url: &Url) -> bool {
    let path = issuer.path().trim_end_matches('/');
    let places = [
        format!("{OAUTH}{path}"),
        format!("{OPENID}{path}"),
        format!("{path}{OPENID}"),
    ];
    issuer.origin() == url.origin() && places.iter().any(|place| place == url.path())
}

/// Checks where the endpoints are. What is sent there belongs to the issuer, so they must be at its origin, or at one that the settings
/// name. The page for the person may be at the origin of the MCP server too: no secret is sent there.
///
/// Returns the token endpoint.
///
/// # Errors
/// Returns which endpoint is refused, and why.
pub(super) fn check_endpoints(
    metadata: &AuthorizationMetadata,
    issuer: &str,
    settings: &OAuth,
    addresses: &Addresses,
) -> Result<Url, String> {
    let url = |text: &str| {
        Url::parse(text).map_err(|_| "a URL of the OAuth metadata is invalid".to_owned())
    };
    let issuer = url(issuer)?.origin();
    let check = |name: &str, text: &str, also: &dyn Fn(&Url) -> bool| {
        let endpoint = url(text)?;
        addresses.check(&endpoint)?;
        let origin = endpoint.origin();
        if origin == issuer || settings.names_origin(&origin) || also(&endpoint) {
            return Ok(endpoint);
        }
        let (origin, issuer) = (origin.ascii_serialization(), issuer.ascii_serialization());
        Err(format!(
            "the {name} endpoint of the authorization server {issuer} is at another origin: {origin}. If {issuer} documents that, add \
             {origin} to the endpoint origins of the OAuth settings"
        ))
    };
    let page = &metadata.authorization_endpoint;
    check("authorization", page, &|url| addresses.is_own(url))?;
    if let Some(registration) = &metadata.registration_endpoint {
        check("registration", registration, &|_| false)?;
    }
    check("token", &metadata.token_endpoint, &|_| false)
}

/// Checks the issuer that a redirect names (RFC 9207).
///
/// # Errors
/// Returns that it is another one, or that it is missing although the metadata announces it.
pub(super) fn check_redirect(
    metadata: &AuthorizationMetadata,
    issuer: &str,
    named: Option<&str>,
) -> Result<(), String> {
    let announced = metadata
        .additional_fields
        .get("authorization_response_iss_parameter_supported");
    let expected = without_paths(issuer);
    match named.map(without_paths) {
        Some(other) if named != Some(issuer) => Err(format!(
            "issuer mismatch: the person was redirected by {other}, and not by {expected}"
        )),
        None if announced == Some(&Value::Bool(true)) => Err(format!(
            "issuer mismatch: the redirect does not name its issuer, which {expected} announces"
        )),
        _ => Ok(()),
    }
}
