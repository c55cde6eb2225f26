//! What all readers share: the client, the guard and the limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use turnwright_core::Error;

use super::failure::invalid;
use super::guard::AddressGuard;
use super::reader::HttpReader;
use super::resolve::{Dial, GuardedResolver, Resolver, SystemResolver};

/// Makes readers for URLs. Cheap to clone; clones share their guard and their limits.
#[derive(Clone)]
pub struct Fetcher(Arc<Shared>);

pub(super) struct Shared {
    pub(super) http: reqwest::Client,
    pub(super) guard: Arc<AddressGuard>,
    pub(super) limits: Limits,
    pub(super) dial: Option<Dial>,
}

/// How much and how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) max_bytes: u64,
    pub(super) max_redirects: usize,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) idle_timeout: Duration,
}

/// Makes a [`Fetcher`].
#[must_use = "a builder does nothing until `build` is called"]
#[derive(Clone)]
pub struct FetcherBuilder {
    guard: AddressGuard,
    resolver: Arc<dyn Resolver>,
    limits: Limits,
    dial: Option<Dial>,
}

impl Fetcher {
    /// A fetcher of chosen parts.
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

    /// A reader of what is at this URL. Nothing is looked up or dialled before it is opened, and its address is judged
    /// then, each time.
    ///
    /// # Errors
    /// `E_ADDRESS_REFUSED`: it is no URL of `http` or `https`, or it holds credentials.
    pub fn reader(&self, url: &str) -> Result<HttpReader, Error> {
        HttpReader::new(self.clone(), url)
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.0
    }
}

impl FetcherBuilder {
    /// Where may be fetched from. Public addresses unless told.
    pub fn guard(mut self, guard: AddressGuard) -> Self {
        self.guard = guard;
        self
    }

    /// What looks up names. The operating system unless told.
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// How many bytes at most. 20 MiB unless told.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.limits.max_bytes = bytes;
        self
    }

    /// How many redirects are followed. 5 unless told.
    pub fn max_redirects(mut self, redirects: usize) -> Self {
        self.limits.max_redirects = redirects;
        self
    }

    /// How long it may take from opening to the last byte, whoever is slow: the server or who reads. 60 seconds unless told.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limits.timeout = limit;
        self
    }

    /// How long it may take to look up a name and connect. 10 seconds unless told.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.limits.connect_timeout = limit;
        self
    }

    /// How long the server may be silent. 20 seconds unless told.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.limits.idle_timeout = limit;
        self
    }

    /// Dials elsewhere, once an address was judged.
    #[cfg(test)]
    pub(super) fn dial(mut self, dial: Dial) -> Self {
        self.dial = Some(dial);
        self
    }

    /// Makes the fetcher.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_MEDIA_VALUE`: the guard names something that is neither a host nor a network, or TLS cannot be
    /// set up.
    pub fn build(self) -> Result<Fetcher, Error> {
        self.guard.check()?;
        let guard = Arc::new(self.guard);
        // An encoding would let few bytes become many.
        let plain = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
        let http = reqwest::Client::builder()
            .dns_resolver(GuardedResolver {
                guard: Arc::clone(&guard),
                resolver: self.resolver,
                dial: self.dial.clone(),
            })
            // A proxy would look up names itself.
            .no_proxy()
            // Each hop is judged, which reqwest cannot do.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_gzip()
            .default_headers(plain)
            .user_agent(concat!("turnwright/", env!("CARGO_PKG_VERSION")))
            // No connection outlives its request, so that each is judged for itself.
            .pool_max_idle_per_host(0)
            .connect_timeout(self.limits.connect_timeout)
            .build()
            .map_err(|error| invalid("the HTTP client cannot be set up").with_source(error))?;
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
