//! A media reader over HTTP.

use std::fmt;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Response;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT,
    HOST, HeaderMap, HeaderName, HeaderValue, RANGE, TE, TRANSFER_ENCODING, UPGRADE,
};
use tokio::time::Instant;
use turnwright_core::Error;
use turnwright_core::media::MediaReader;
use turnwright_core::spool::ByteStream;
use url::Url;

use super::failure::{denied, invalid, too_large, too_slow};
use super::fetcher::{Fetcher, Limits};
use super::guard::check_form;
use super::redirects::{self, shown_host};
use super::transfer::{Transfer, within};

/// Pieces that wait for who reads.
const PIECES: usize = 2;

/// What the request itself decides.
const OURS: [HeaderName; 9] = [
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    RANGE,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Reads what is at a URL: each time it is opened is a new `GET`. See [`Fetcher::reader`].
///
/// Dropping the stream that it gives ends the transfer with the piece that is under way; if the server is silent, with the
/// idle timeout.
#[must_use = "a reader does nothing until it is opened"]
#[derive(Clone)]
pub struct HttpReader {
    pub(super) fetcher: Fetcher,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) limits: Limits,
    expected: Vec<String>,
}

impl HttpReader {
    pub(super) fn new(fetcher: Fetcher, url: &str) -> Result<Self, Error> {
        let url = Url::parse(url.trim())
            .map_err(|error| denied(format!("this is not a URL that can be fetched: {error}")))?;
        check_form(&url)?;
        let limits = fetcher.shared().limits;
        Ok(HttpReader {
            fetcher,
            url,
            headers: HeaderMap::new(),
            limits,
            expected: Vec::new(),
        })
    }

    /// One more header, for the origin of the URL alone: a redirect to another drops it. Never shown.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_MEDIA_VALUE`: it is not a header, or one that the request itself decides.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let name =
            HeaderName::try_from(name).map_err(|_| invalid("this is not a header's name"))?;
        if OURS.contains(&name) || name.as_str().starts_with("proxy-") {
            let message =
                format!("the header `{name}` is not yours to set: the request decides it");
            return Err(invalid(message));
        }
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            let message = format!("the value of the header `{name}` holds what no header may hold");
            invalid(message)
        })?;
        value.set_sensitive(true);
        self.headers.append(name, value);
        Ok(self)
    }

    /// Only these MIME types are taken, such as `image/png` or `image/*`. Default: any.
    pub fn expect_types<T: Into<String>>(mut self, types: impl IntoIterator<Item = T>) -> Self {
        let types = types.into_iter().map(Into::into);
        self.expected = types
            .map(|mime: String| mime.to_ascii_lowercase())
            .collect();
        self
    }

    /// How many bytes at most, instead of the fetcher's bound.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.limits.max_bytes = bytes;
        self
    }

    /// How long it may take from opening to the last byte, instead of the fetcher's bound.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limits.timeout = limit;
        self
    }

    /// What is asked for, where types are expected.
    pub(super) fn accept(&self) -> Option<(HeaderName, HeaderValue)> {
        let value = HeaderValue::try_from(self.expected.join(", ")).ok()?;
        (!self.expected.is_empty()).then_some((ACCEPT, value))
    }

    /// Whether the answer is what was asked for, as far as its head tells.
    fn take(&self, host: &str, response: &Response) -> io::Result<()> {
        let status = response.status();
        if !status.is_success() || status.as_u16() == 206 {
            let kind = match status.as_u16() {
                404 | 410 => io::ErrorKind::NotFound,
                401 | 403 => io::ErrorKind::PermissionDenied,
                _ => io::ErrorKind::Other,
            };
            let message = format!("{host} answers {}", status.as_u16());
            return Err(io::Error::new(kind, message));
        }
        let mut encodings = response.headers().get_all(CONTENT_ENCODING).iter();
        if encodings.any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")) {
            let message = format!("{host} sends it encoded, which was not asked for");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if !self.expects(response.headers()) {
            let expected = self.expected.join(", ");
            let message = format!("{host} sends something else than {expected}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if response.content_length() > Some(self.limits.max_bytes) {
            return Err(too_large(host, self.limits.max_bytes));
        }
        Ok(())
    }

    fn expects(&self, headers: &HeaderMap) -> bool {
        if self.expected.is_empty() {
            return true;
        }
        let sent = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        let sent = sent
            .and_then(|value| value.split(';').next())
            .unwrap_or_default();
        let sent = sent.trim().to_ascii_lowercase();
        let fits = |expected: &String| match expected.strip_suffix("/*") {
            Some("*") => true,
            Some(family) => sent.split_once('/').is_some_and(|(kind, _)| kind == family),
            None => *expected == sent,
        };
        self.expected.iter().any(fits)
    }
}

#[async_trait]
impl MediaReader for HttpReader {
    /// # Errors
    /// With `E_ADDRESS_DENIED` inside where the address may not be fetched from; else what the server or the network did.
    async fn open(&self) -> io::Result<ByteStream> {
        let deadline = Instant::now().checked_add(self.limits.timeout);
        let late = || too_slow(&shown_host(&self.url), "timeout");
        let (host, response) = within(deadline, redirects::get(self))
            .await
            .ok_or_else(late)??;
        self.take(&host, &response)?;
        let (sender, stream) = ByteStream::channel(PIECES);
        let transfer = Transfer {
            host,
            response,
            limits: self.limits,
            deadline,
        };
        tokio::spawn(transfer.feed(sender));
        Ok(stream)
    }
}

impl fmt::Debug for HttpReader {
    /// Paths, queries and headers may hold keys: not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpReader")
            .field("host", &format_args!("{}", shown_host(&self.url)))
            .field("limits", &self.limits)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}
