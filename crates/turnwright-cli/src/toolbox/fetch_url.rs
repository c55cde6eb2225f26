//! What stands at a public web address.

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

const MEBIBYTE: u64 = 1 << 20;
const MOST_BYTES: u64 = 5 * MEBIBYTE;
const TIME: Duration = Duration::from_secs(30);

/// What is asked for. What comes is judged by what it is.
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, application/json, text/*;q=0.8, application/xml;q=0.8, */*;q=0.1";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "turnwright::schemars")]
struct Args {
    /// The whole address, with `https://` or `http://`.
    #[schemars(
        length(min = 1, max = 2000),
        extend("format" = "uri", "examples" = ["https://example.org/"])
    )]
    url: String,
}

pub(super) fn tool(guard: AddressGuard) -> Result<Tool, Error> {
    let fetcher = Fetcher::builder()
        .guard(guard)
        .max_bytes(MOST_BYTES)
        .timeout(TIME)
        .build()?;
    Tool::typed::<Args>("fetch_url")
        .description(
            "Fetches what stands at a public web address and returns it as it is: HTML, JSON, Markdown or other text of at \
             most 5 MiB. Addresses of private networks and of this machine are refused, and so is what is not text. It only \
             reads: it sends nothing but the address.",
        )
        .effects(Effects::ReadOnly)
        .timeout(TIME + Duration::from_secs(5))
        // It changes nothing, but an address can carry out what was read.
        .approval(when_tainted(
            "an address can carry something out, and text that others wrote stands in the conversation",
        ))
        .handler(move |args: Args, _: ToolContext| {
            let fetcher = fetcher.clone();
            async move { fetch(&fetcher, &args.url).await }
        })
        .build()
}

async fn fetch(fetcher: &Fetcher, url: &str) -> Result<ToolOutput, ToolError> {
    let reader = fetcher.reader(url).map_err(|error| refused(&error))?;
    let reader = reader.header("accept", ACCEPTED)?;
    let mut stream = reader.open().await.map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece.map_err(|error| failed(&error))?);
    }
    if let Some(what) = not_text(&bytes) {
        let message = format!("what came is {what}");
        let for_model =
            format!("What stands there is not text but {what}, which cannot be read here.");
        return Err(ToolError::invalid_arguments(message).for_model(for_model));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    let kind = kind_of(url, &text);
    Ok(ToolOutput::text(text).of_kind(kind))
}

/// What the text is, by what it holds or how the address ends.
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
    let for_model = "This address is not fetched from: only public addresses are, by http or https, on ports 80 and 443, without a \
                password, and without redirects to anything else.";
    ToolError::denied(error.message()).for_model(for_model)
}

fn failed(error: &io::Error) -> ToolError {
    let ours = error
        .get_ref()
        .and_then(|inside| inside.downcast_ref::<Error>());
    if let Some(ours) = ours.filter(|ours| ours.code() == ErrorCode::ADDRESS_DENIED) {
        return refused(ours);
    }
    // It names the host and what the server or the network did.
    let message = error.to_string();
    let for_model = match error.kind() {
        io::ErrorKind::FileTooLarge => {
            "What stands there is larger than 5 MiB, which is the most that is fetched.".to_owned()
        }
        io::ErrorKind::TimedOut => "The server took too long.".to_owned(),
        io::ErrorKind::NotFound => format!("There is nothing at this address: {message}."),
        io::ErrorKind::PermissionDenied => {
            format!("The server does not let everybody read this: {message}.")
        }
        _ => format!("It could not be fetched: {message}."),
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
