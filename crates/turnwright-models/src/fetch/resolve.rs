//! Resolves names and checks each address before it is dialled.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::guard::AddressGuard;

/// Resolves host names. The guard checks the result, so a resolver cannot bypass it.
///
/// ```
/// use async_trait::async_trait;
/// use std::collections::HashMap;
/// use std::io;
/// use std::net::IpAddr;
/// use turnwright_models::fetch::{Fetcher, Resolver};
///
/// /// A fixed list of hosts.
/// #[derive(Debug)]
/// struct Hosts(HashMap<String, IpAddr>);
///
/// #[async_trait]
/// impl Resolver for Hosts {
///     async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
///         let address = self.0.get(host).ok_or(io::ErrorKind::NotFound)?;
///         Ok(vec![*address])
///     }
/// }
///
/// let fetcher = Fetcher::builder().resolver(Hosts(HashMap::new())).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[async_trait]
pub trait Resolver: Send + Sync + fmt::Debug {
    /// Returns all addresses of the name.
    ///
    /// # Errors
    /// Fails if the lookup failed.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system.
///
/// ```
/// use turnwright_models::fetch::{Resolver as _, SystemResolver};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let addresses = SystemResolver.resolve("127.0.0.1").await?;
/// assert!(addresses[0].is_loopback());
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let addresses = tokio::net::lookup_host((host, 0)).await?;
        Ok(addresses.map(|address| address.ip()).collect())
    }
}

/// Maps a checked address to the one that is dialled. Only tests change it.
pub(super) type Dial = Arc<dyn Fn(IpAddr) -> SocketAddr + Send + Sync>;

/// The resolver of the HTTP client. The client dials only its results and IP addresses in URLs.
pub(super) struct GuardedResolver {
    pub(super) guard: Arc<AddressGuard>,
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) dial: Option<Dial>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.guard);
        let resolver = Arc::clone(&self.resolver);
        let dial = self.dial.clone();
        Box::pin(async move {
            let host = name.as_str();
            let addresses = resolver.resolve(host).await?;
            if addresses.is_empty() {
                return Err("the name has no address".into());
            }
            guard.check_resolved(host, &addresses)?;
            let dialled = addresses.into_iter().map(move |address| match &dial {
                // The client replaces port 0 with the port of the URL.
                None => SocketAddr::new(address, 0),
                Some(dial) => dial(address),
            });
            Ok(Box::new(dialled) as Addrs)
        })
    }
}
