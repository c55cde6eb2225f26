//! From names to addresses, each judged before it is dialled.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::guard::AddressGuard;

/// Looks up the addresses of a name. Whatever it says is judged: a resolver cannot open what the guard does not.
#[async_trait]
pub trait Resolver: Send + Sync + fmt::Debug {
    /// All addresses of the name.
    ///
    /// # Errors
    /// It cannot be looked up.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let addresses = tokio::net::lookup_host((host, 0)).await?;
        Ok(addresses.map(|address| address.ip()).collect())
    }
}

/// Where to dial for an address that was judged already: itself, save in tests.
pub(super) type Dial = Arc<dyn Fn(IpAddr) -> SocketAddr + Send + Sync>;

/// What the HTTP client asks: it dials what comes from here and nothing else, but for addresses that stand in a URL.
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
            guard.judge_answer(host, &addresses)?;
            let dialled = addresses.into_iter().map(move |address| match &dial {
                // The port of the URL, or of its scheme, takes the place of 0.
                None => SocketAddr::new(address, 0),
                Some(dial) => dial(address),
            });
            Ok(Box::new(dialled) as Addrs)
        })
    }
}
