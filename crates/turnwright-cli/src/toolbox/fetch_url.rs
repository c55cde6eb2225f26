//! Fetches text from public web addresses.

use std::io;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use turnwright::Effects;
use turnwright::Error;
use turnwright::ErrorCode;
use turnwright::approval::when_tainted;
use turnwright::artifact::ArtifactKind;
use turnwright::media::MediaReader as _;
use turnwright::models::fetch::{AddressGuard, Fetcher};
use turnwright::prelude::*;
use turnwright::schemars::JsonSchema;

use super::content::not_text;
use crate::units::size;

const MEBIBYTE: u64 = 1 << 20;
const MAX_BYTES: u64 = 5 * MEBIBYTE;
const TIME: Duration = Duration::from_secs(30);

/// The `Accept` header. The response is judged by its content.
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, application/json, text/*;q=0.8, application/xml;q=0.8, */*;q=0.1";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "turnwright::schemars")]
struct Args {
    /// URL, beginning with `https://` or `http://`.
    #[schemars(
        length(min = 1, max = 2000),
        extend("format" = "uri", "examples" = ["https://example.org/"])
    )]
    url: String,
}

pub(super) fn tool(guard: AddressGuard) -> Result<Tool, Error> {
    let fetcher = Fetcher::builder()
        .guard(guard)
        .max_bytes(MAX_BYTES)
        .timeout(TIME)
        .build()?;
    Tool::typed::<Args>("fetch_url")
        .description(
            "Fetches a public web address and returns the response unchanged: HTML, JSON, Markdown or other text of at most \
             5 MiB. Private and local addresses and binary content are refused. Sends a GET request without a body or cookies.",
        )
        .effects(Effects::ReadOnly)
        .sends_out(true)
        .timeout(TIME + Duration::from_secs(5))
        // Read-only, but a URL can leak content of the conversation.
        .approval(when_tainted(
            "a URL can leak data, and the conversation contains untrusted content",
        ))
        .handler(move |args: Args, ctx: ToolContext| {
            let fetcher = fetcher.clone();
            async move { fetch(&fetcher, &args.url, &ctx).await }
        })
        .build()
}

async fn fetch(fetcher: &Fetcher, url: &str, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let reader = fetcher.reader(url).map_err(|error| refused(&error))?;
    let reader = reader.header("accept", ACCEPTED)?;
    let mut stream = reader.open().await.map_err(|error| failed(&error))?;
    let (mut bytes, mut reported) = (Vec::new(), 0);
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece.map_err(|error| failed(&error))?);
        let read = bytes.len() as u64;
        if read >= reported + MEBIBYTE {
            ctx.progress(format!("downloaded {}", size(read)));
            reported = read;
        }
    }
    if let Some(what) = not_text(&bytes) {
        let message = format!("the response is {what}");
        let for_model = format!("The response is not text but {what}. Only text can be fetched.");
        return Err(ToolError::invalid_arguments(message).for_model(for_model));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    let kind = kind_of(url, &text);
    Ok(ToolOutput::text(text).of_kind(kind))
}

/// The kind of the text, by its content or the extension of the URL.
fn kind_of(url: &str, text: &str) -> ArtifactKind {
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    if looks_like_json && serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return ArtifactKind::JSON;
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let ending = path.rsplit('.').next().unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "md" | "markdown" => ArtifactKind::MARKDOWN,
        _ => ArtifactKind::TEXT,
    }
}

fn refused(error: &Error) -> ToolError {
    let for_model = "This address is not allowed. Only public addresses can be fetched, over http or https, on ports 80 and 443, \
                     without a password, and without redirects to other addresses.";
    ToolError::denied(error.message()).for_model(for_model)
}

fn failed(error: &io::Error) -> ToolError {
    let ours = error
        .get_ref()
        .and_then(|inside| inside.downcast_ref::<Error>());
    if let Some(ours) = ours.filter(|ours| ours.code() == ErrorCode::ADDRESS_DENIED) {
        return refused(ours);
    }
    // Names the host and what the server or the network did.
    let message = error.to_string();
    let for_model = match error.kind() {
        io::ErrorKind::FileTooLarge => "The response is larger than the limit of 5 MiB.".to_owned(),
        io::ErrorKind::TimedOut => "The server did not respond in time.".to_owned(),
        io::ErrorKind::NotFound => format!("Nothing found at this address: {message}."),
        io::ErrorKind::PermissionDenied => {
            format!("The server denies access: {message}.")
        }
        _ => format!("The fetch failed: {message}."),
    };
    let error = match error.kind() {
        io::ErrorKind::FileTooLarge => ToolError::invalid_arguments(message),
        io::ErrorKind::TimedOut => ToolError::timeout(message),
        io::ErrorKind::NotFound => ToolError::not_found(message),
        io::ErrorKind::PermissionDenied => ToolError::denied(message),
        _ => ToolError::unavailable(message),
    };
    error.for_model(for_model)
}
