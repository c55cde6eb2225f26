//! Reads responses of servers over HTTP, within limits, and says why one cannot be read.

use std::borrow::Cow;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::StatusCode;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::Response;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use thiserror::Error;
use turnwright_core::schema::escape;

use super::failure::causes;

pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// Why a request failed. Without the URL, which may contain a key.
#[derive(Debug, Error)]
pub(super) enum HttpError {
    /// Nothing was sent.
    #[error("{0}")]
    Connect(String),
    /// The server did not process the request.
    #[error("{1}")]
    Rejected(StatusCode, String),
    #[error("{0}")]
    Other(String),
}

pub(super) type HttpResult<T> = Result<T, StreamableHttpError<HttpError>>;

pub(super) fn failed(error: reqwest::Error) -> StreamableHttpError<HttpError> {
    let is_connect = error.is_connect();
    let error = error.without_url();
    let why: Vec<String> = causes(&error).map(ToString::to_string).collect();
    StreamableHttpError::Client(if is_connect {
        HttpError::Connect(why.join(": "))
    } else {
        HttpError::Other(why.join(": "))
    })
}

pub(super) fn rejected<T>(status: StatusCode, why: String) -> HttpResult<T> {
    Err(StreamableHttpError::Client(HttpError::Rejected(
        status, why,
    )))
}

pub(super) fn unexpected<T>(why: impl Into<Cow<'static, str>>) -> HttpResult<T> {
    Err(StreamableHttpError::UnexpectedServerResponse(why.into()))
}

/// Returns the error for a content type that no MCP server uses.
pub(super) fn wrong_content_type<T>(kind: Option<&str>) -> HttpResult<T> {
    let kind = escape(kind.unwrap_or("without a type"), 80);
    let question = "is the URL that of an MCP server?";
    unexpected(format!("it is {kind}, not JSON or events: {question}"))
}

/// Returns what the server says about the authorisation that it requires.
pub(super) fn challenge(response: &Response) -> String {
    let values = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    values.join(", ")
}

pub(super) fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}

pub(super) fn content_type(response: &Response) -> Option<&str> {
    response.headers().get(CONTENT_TYPE)?.to_str().ok()
}

/// Reads a body up to a limit.
pub(super) async fn read(response: Response, limit: usize) -> HttpResult<Bytes> {
    let mut stream = response.bytes_stream();
    let mut body = BytesMut::new();
    while let Some(piece) = stream.next().await {
        body.extend_from_slice(&piece.map_err(failed)?);
        if body.len() > limit {
            return unexpected(format!("the answer has more than {limit} bytes"));
        }
    }
    Ok(body.freeze())
}

/// Ends when an event has more bytes than the limit, and sets `exceeded`. An event ends at an empty line.
pub(super) fn bounded(
    stream: impl futures_util::Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    limit: usize,
    exceeded: Arc<AtomicBool>,
) -> impl futures_util::Stream<Item = Result<Bytes, HttpError>> + Send + 'static {
    let mut size = 0;
    let mut empty = true;
    let checked = stream.map(move |piece| {
        for byte in piece.iter().flatten() {
            match byte {
                b'\n' if empty => size = 0,
                b'\n' => empty = true,
                b'\r' => {}
                _ => empty = false,
            }
            size += 1;
            if size > limit {
                exceeded.store(true, Ordering::Release);
                return None;
            }
        }
        Some(piece.map_err(|error| HttpError::Other(error.without_url().to_string())))
    });
    checked
        .take_while(|piece| ready(piece.is_some()))
        .filter_map(ready)
}
