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

/// The number of pieces buffered for the consumer.
const PIECES: usize = 2;

/// Headers that the request sets itself.
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

/// A media reader for a URL. Each time it is opened, it sends a new `GET`. See [`Fetcher::reader`].
///
/// Dropping the returned stream ends the transfer after the current piece. If the server is silent, it ends with the
/// idle timeout.
///
/// ```
/// use std::time::Duration;
/// use turnwright_models::fetch::Fetcher;
///
/// let reader = Fetcher::builder()
///     .build()?
///     .reader("https://example.org/cat.png")?
///     .header("authorization", "Bearer abc")?
///     .expect_types(["image/png", "image/jpeg"])
///     .max_bytes(1 << 20)
///     .timeout(Duration::from_secs(5));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
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
            .map_err(|error| denied(format!("the URL cannot be parsed: {error}")))?;
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

    /// Adds a header for the origin of the URL. A redirect to another origin drops it. Its value is never shown.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_MEDIA_VALUE` if the header is invalid, or is one that the request sets itself.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let name = HeaderName::try_from(name).map_err(|_| invalid("the header name is invalid"))?;
        if OURS.contains(&name) || name.as_str().starts_with("proxy-") {
            let message = format!("the header `{name}` cannot be set: the request sets it itself");
            return Err(invalid(message));
        }
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            let message = format!("the value of the header `{name}` has an invalid character");
            invalid(message)
        })?;
        value.set_sensitive(true);
        self.headers.append(name, value);
        Ok(self)
    }

    /// Accepts only these MIME types, such as `image/png` or `image/*`. Default: any.
    pub fn expect_types<T: Into<String>>(mut self, types: impl IntoIterator<Item = T>) -> Self {
        let types = types.into_iter().map(Into::into);
        self.expected = types
            .map(|mime: String| mime.to_ascii_lowercase())
            .collect();
        self
    }

    /// Sets the maximum size of the body. Default: the fetcher's limit.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.limits.max_bytes = bytes;
        self
    }

    /// Sets the timeout from opening to the last byte. Default: the fetcher's timeout.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limits.timeout = limit;
        self
    }

    /// Returns the `Accept` header, if types are expected.
    pub(super) fn accept(&self) -> Option<(HeaderName, HeaderValue)> {
        let value = HeaderValue::try_from(self.expected.join(", ")).ok()?;
        (!self.expected.is_empty()).then_some((ACCEPT, value))
    }

    /// Checks the status and headers of the response.
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
            let message = format!("{host} sent an encoded body, which was not requested");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if !self.expects(response.headers()) {
            let expected = self.expected.join(", ");
            let message = format!("{host} sent another type than {expected}");
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
    /// Contains an `E_ADDRESS_DENIED` error if the address is denied; otherwise reports the failure of the server or
    /// the network.
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
    /// Shows neither path, query nor headers, which may contain keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpReader")
            .field("host", &format_args!("{}", shown_host(&self.url)))
            .field("limits", &self.limits)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}
