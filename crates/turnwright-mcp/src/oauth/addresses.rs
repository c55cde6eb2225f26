//! Which addresses may be dialled. URLs of metadata, registration and tokens come from the MCP server, which may want to reach
//! services that only this machine can reach.
//!
//! Dialled are public addresses, and those of the kind that the server's own URL has in its text, so that a change of
//! DNS opens nothing. The origin of the MCP server itself is the user's and is dialled without the guard. TLS is
//! required except for this machine and private networks.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use turnwright_models::fetch::{AddressGuard, Resolver};
use turnwright_models::http::is_loopback;
use url::{Host, Origin, Url};

const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];

/// The addresses that one server may name.
#[derive(Clone)]
pub(super) struct Addresses {
    /// The server itself was chosen by the user, so its own origin is always allowed.
    origin: Origin,
    guard: Arc<AddressGuard>,
    private: bool,
}

/// Where a URL leads, as far as its text says. A name is never trusted to stay at its address: only the text counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Loopback,
    Private,
    Elsewhere,
}

impl Place {
    fn of(url: &Url) -> Self {
        if is_loopback(url) {
            Place::Loopback
        } else if address_of(url).is_some_and(is_private) {
            Place::Private
        } else {
            Place::Elsewhere
        }
    }
}

/// Returns the address that is the host of a URL.
fn address_of(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

/// Returns whether what is sent to this URL is protected on the way, or stays on this machine or in a private network.
pub(super) fn may_be_plain(url: &Url, private_addresses: bool) -> bool {
    let is_name = matches!(url.host(), Some(Host::Domain(_)));
    url.scheme() == "https"
        || Place::of(url) != Place::Elsewhere
        // Its addresses are checked when it is resolved.
        || private_addresses && is_name
}

impl Addresses {
    /// `private`: addresses of private networks are allowed too.
    pub(super) fn new(server: &Url, private: bool) -> Self {
        let place = Place::of(server);
        let mut guard = AddressGuard::public();
        if private || place == Place::Private {
            guard = guard.allow_private();
        }
        for network in LOOPBACK {
            guard = if place == Place::Loopback {
                guard.allow_network(network)
            } else {
                guard.deny_network(network)
            };
        }
        Addresses {
            origin: server.origin(),
            guard: Arc::new(guard),
            private,
        }
    }

    /// Returns whether this is the origin of the server itself.
    pub(super) fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.origin
    }

    /// Checks everything that can be checked before a name is resolved.
    ///
    /// # Errors
    /// Returns why the URL is refused, with nothing of it but the host.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        let host = match url.host() {
            Some(host) if matches!(url.scheme(), "http" | "https") => host,
            _ => {
                return Err("a URL of the OAuth metadata is neither `http` nor `https`".to_owned());
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("the URL of {host} contains credentials"));
        }
        let is_refused = |address: &IpAddr| !self.is_own(url) && !self.guard.permits(*address);
        if let Some(address) = address_of(url).filter(is_refused) {
            return Err(refused(&host.to_string(), "it is", address));
        }
        if may_be_plain(url, self.private) {
            Ok(())
        } else {
            Err(format!("{host} is refused without TLS"))
        }
    }
}

/// Returns the text for a person. `leads`: how the host leads to the address.
fn refused(host: &str, leads: &str, address: IpAddr) -> String {
    let address = address.to_canonical();
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let (kind, advice) = match address {
        _ if address.is_loopback() => ("a loopback address", ""),
        _ if is_link_local => ("a link-local address", ""),
        _ if is_private(address) => (
            "a private address",
            ". For an authorization server in a private network, allow private addresses",
        ),
        _ => ("a reserved address", ""),
    };
    format!(
        "{host} is refused: {leads} {kind}. An MCP server may name only public addresses, and those of the kind that its own URL \
         has{advice}"
    )
}

/// Returns whether this is an address of a private network, or of this machine.
fn is_private(address: IpAddr) -> bool {
    let public = AddressGuard::public();
    !public.permits(address) && public.allow_private().permits(address)
}

/// Resolves names for the HTTP client, which dials only what it returns. One refused address refuses the name.
pub(super) struct GuardedResolver {
    pub(super) addresses: Addresses,
    pub(super) resolver: Arc<dyn Resolver>,
    /// The request is not protected on its way, so it must not leave the private network.
    pub(super) plain: bool,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.addresses.guard);
        let (resolver, plain) = (Arc::clone(&self.resolver), self.plain);
        Box::pin(async move {
            let addresses = resolver.resolve(name.as_str()).await?;
            let public = AddressGuard::public();
            if plain && addresses.iter().any(|address| public.permits(*address)) {
                let why = format!("{} is refused without TLS", name.as_str());
                return Err(Refused(why).into());
            }
            if let Some(address) = addresses.iter().find(|address| !guard.permits(**address)) {
                let leads = format!("it resolves to {address},");
                return Err(Refused(refused(name.as_str(), &leads, *address)).into());
            }
            // The client replaces port 0 with the port of the URL.
            let dialled = addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(dialled) as Addrs)
        })
    }
}

/// Why a request was not sent, or its answer not taken. For people: it has no secrets.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refused(pub(super) String);
