//! The client, guard and limits that all readers share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use turnwright_core::Error;

use super::failure::invalid;
use super::guard::AddressGuard;
use super::reader::HttpReader;
use super::resolve::{Dial, GuardedResolver, Resolver, SystemResolver};
use crate::http::tls_config;

/// Creates readers for URLs. Cheap to clone; clones share the client, guard and limits.
///
/// ```
/// use turnwright_core::Media;
/// use turnwright_core::media::MediaKind;
/// use turnwright_models::fetch::Fetcher;
///
/// let fetcher = Fetcher::builder().build()?;
/// // Nothing is sent before the media is read.
/// let reader = fetcher.reader("https://example.org/cat.png")?.expect_types(["image/*"]);
/// let photo = Media::retrieved_public(MediaKind::Image, "image/png", "cat.png", reader).build()?;
/// assert!(fetcher.reader("file:///etc/passwd").is_err());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Fetcher(Arc<Shared>);

pub(super) struct Shared {
    pub(super) http: reqwest::Client,
    pub(super) guard: Arc<AddressGuard>,
    pub(super) limits: Limits,
    pub(super) dial: Option<Dial>,
}

/// Limits on size and time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) max_bytes: u64,
    pub(super) max_redirects: usize,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) idle_timeout: Duration,
}

/// Builds a [`Fetcher`].
///
/// ```
/// use std::time::Duration;
/// use turnwright_models::fetch::{AddressGuard, Fetcher};
///
/// let fetcher = Fetcher::builder()
///     .guard(AddressGuard::public().allow_network("10.1.0.0/16"))
///     .max_bytes(5 << 20)
///     .timeout(Duration::from_secs(10))
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
#[derive(Clone)]
pub struct FetcherBuilder {
    guard: AddressGuard,
    resolver: Arc<dyn Resolver>,
    limits: Limits,
    dial: Option<Dial>,
}

impl Fetcher {
    /// Creates a builder.
    pub fn builder() -> FetcherBuilder {
        FetcherBuilder {
            guard: AddressGuard::public(),
            resolver: Arc::new(SystemResolver),
            limits: Limits {
                max_bytes: 20 << 20,
                max_redirects: 5,
                timeout: Duration::from_secs(60),
                connect_timeout: Duration::from_secs(10),
                idle_timeout: Duration::from_secs(20),
            },
            dial: None,
        }
    }

    /// Creates a reader for a URL. The name is resolved, and its addresses are checked, each time the reader is
    /// opened.
    ///
    /// # Errors
    /// `E_ADDRESS_DENIED` if the URL is not `http` or `https`, or has credentials.
    pub fn reader(&self, url: &str) -> Result<HttpReader, Error> {
        HttpReader::new(self.clone(), url)
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.0
    }
}

impl FetcherBuilder {
    /// Sets the address guard. Default: [`AddressGuard::public`].
    pub fn guard(mut self, guard: AddressGuard) -> Self {
        self.guard = guard;
        self
    }

    /// Sets the DNS resolver. Default: the operating system.
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Sets the maximum size of a body. Default: 20 MiB.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.limits.max_bytes = bytes;
        self
    }

    /// Sets the maximum number of redirects. Default: 5.
    pub fn max_redirects(mut self, redirects: usize) -> Self {
        self.limits.max_redirects = redirects;
        self
    }

    /// Sets the timeout from opening to the last byte. Includes time spent in a slow consumer. Default: 60 s.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limits.timeout = limit;
        self
    }

    /// Sets the timeout for DNS and connect. Default: 10 s.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.limits.connect_timeout = limit;
        self
    }

    /// Sets the maximum pause between two pieces of a body. Default: 20 s.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.limits.idle_timeout = limit;
        self
    }

    /// Dials another address after the check.
    #[cfg(test)]
    pub(super) fn dial(mut self, dial: Dial) -> Self {
        self.dial = Some(dial);
        self
    }

    /// Builds the fetcher.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_MEDIA_VALUE` if a rule of the guard is neither a host nor a network, or if TLS cannot be set up.
    pub fn build(self) -> Result<Fetcher, Error> {
        self.guard.check()?;
        let guard = Arc::new(self.guard);
        // Decompression would bypass the size limit.
        let plain = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
        let wrong = || invalid("the HTTP client cannot be set up");
        let tls = tls_config().map_err(|error| wrong().with_source(error))?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(GuardedResolver {
                guard: Arc::clone(&guard),
                resolver: self.resolver,
                dial: self.dial.clone(),
            })
            // A proxy would resolve names itself.
            .no_proxy()
            // Each hop is checked, which reqwest cannot do.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_gzip()
            .default_headers(plain)
            .user_agent(concat!("turnwright/", env!("CARGO_PKG_VERSION")))
            // No connection outlives its request, so that each request is checked.
            .pool_max_idle_per_host(0)
            .connect_timeout(self.limits.connect_timeout)
            .build()
            .map_err(|error| wrong().with_source(error))?;
        Ok(Fetcher(Arc::new(Shared {
            http,
            guard,
            limits: self.limits,
            dial: self.dial,
        })))
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("guard", &self.0.guard)
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for FetcherBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetcherBuilder")
            .field("guard", &self.guard)
            .field("resolver", &self.resolver)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
