//! The address guard: decides which addresses may be fetched.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use turnwright_core::Error;
use url::{Host, Url};

use super::address::{Reach, embedded, parse, reach};
use super::failure::{denied, invalid};

/// An allow list for addresses. Default: public addresses, ports 80 and 443.
///
/// ```
/// use turnwright_models::fetch::AddressGuard;
///
/// let guard = AddressGuard::public().allow_network("10.1.0.0/16").deny_network("10.1.7.0/24");
/// assert!(guard.permits("10.1.2.3".parse()?));
/// assert!(!guard.permits("10.1.7.3".parse()?));
/// assert!(!guard.permits("127.0.0.1".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
///
/// The rules apply to every URL, whatever its source, and to every redirect. A network that translates IPv4 under its
/// own prefix (NAT64) cannot be recognised: pass such a prefix to [`AddressGuard::deny_network`].
#[must_use = "a guard does nothing until a fetcher is built with it"]
#[derive(Clone, Debug)]
pub struct AddressGuard {
    private: bool,
    https_only: bool,
    hosts: BTreeSet<String>,
    allowed: Vec<IpNet>,
    denied: Vec<IpNet>,
    ports: BTreeSet<u16>,
    invalid_rules: Vec<String>,
}

impl AddressGuard {
    /// Allows only public addresses.
    pub fn public() -> Self {
        AddressGuard {
            private: false,
            https_only: false,
            hosts: BTreeSet::new(),
            allowed: Vec::new(),
            denied: Vec::new(),
            ports: BTreeSet::from([80, 443]),
            invalid_rules: Vec::new(),
        }
    }

    /// Also allows private networks and loopback, for any host name. Cloud metadata, link-local and other special
    /// addresses stay denied: use [`AddressGuard::allow_network`] for those.
    pub fn allow_private(mut self) -> Self {
        self.private = true;
        self
    }

    /// Allows this host, even if its addresses are private. The name must equal the host of the URL.
    pub fn allow_host(mut self, host: &str) -> Self {
        match Host::parse(host) {
            Ok(Host::Domain(name)) => {
                self.hosts.insert(without_dot(&name).to_owned());
            }
            Ok(Host::Ipv4(address)) => self.allowed.push(IpAddr::V4(address).into()),
            Ok(Host::Ipv6(address)) => {
                let address = IpAddr::V6(address).to_canonical();
                self.allowed.push(address.into());
            }
            Err(_) => self.invalid_rules.push(format!(
                "`{host}` is not a host: write only the name, and set a port with `allow_port`"
            )),
        }
        self
    }

    /// Allows all addresses of this network, for any host name: `10.1.0.0/16`, `fd12::/48`, or one address.
    pub fn allow_network(mut self, network: &str) -> Self {
        let network = self.network(network);
        self.allowed.extend(network);
        self
    }

    /// Denies the addresses of this network. Takes precedence over everything that is allowed.
    pub fn deny_network(mut self, network: &str) -> Self {
        let network = self.network(network);
        self.denied.extend(network);
        self
    }

    fn network(&mut self, text: &str) -> Option<IpNet> {
        let invalid = |why| self.invalid_rules.push(format!("`{text}` {why}"));
        parse(text).map_err(invalid).ok()
    }

    /// Also allows this port, on every allowed host. Services on other ports rarely expect requests from here.
    pub fn allow_port(mut self, port: u16) -> Self {
        self.ports.insert(port);
        self
    }

    /// Allows `https` only.
    pub fn https_only(mut self) -> Self {
        self.https_only = true;
        self
    }

    /// Returns `true` if this address may be dialled, for any host name.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        self.permits_for(None, address)
    }

    /// Checks the rules themselves.
    ///
    /// # Errors
    /// Fails if a rule is neither a host nor a network.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.invalid_rules.is_empty() {
            return Ok(());
        }
        Err(invalid(self.invalid_rules.join("; ")))
    }

    /// Checks everything that can be checked before a DNS lookup.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), Error> {
        let host = check_form(url)?;
        if self.https_only && url.scheme() != "https" {
            return Err(denied(format!("{host} is denied without TLS")));
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if !self.ports.contains(&port) {
            return Err(denied(format!(
                "port {port} of {host} is denied: allow it with `AddressGuard::allow_port`"
            )));
        }
        match host {
            Host::Ipv4(address) => self.check_address(None, address.into()),
            Host::Ipv6(address) => self.check_address(None, address.into()),
            Host::Domain(_) => Ok(()),
        }
    }

    /// Checks the result of a DNS lookup. One denied address denies all: a public name does not resolve to an
    /// internal address, and the client picks any of the addresses.
    pub(super) fn check_resolved(&self, host: &str, addresses: &[IpAddr]) -> Result<(), Error> {
        addresses
            .iter()
            .try_for_each(|address| self.check_address(Some(host), *address))
    }

    fn check_address(&self, host: Option<&str>, address: IpAddr) -> Result<(), Error> {
        if self.permits_for(host, address) {
            return Ok(());
        }
        let subject = match host {
            Some(host) => format!("{host} resolves to {address}, which"),
            None => address.to_string(),
        };
        Err(denied(if self.is_denied(address) {
            format!("{subject} is in a network that `AddressGuard::deny_network` denies")
        } else {
            let way = match (reach(address), host) {
                (Reach::Private, Some(_)) => "`AddressGuard::allow_host`",
                _ => "`AddressGuard::allow_network`",
            };
            format!("{subject} is not a public address: allow it with {way} if this is intended")
        }))
    }

    fn permits_for(&self, host: Option<&str>, address: IpAddr) -> bool {
        if self.is_denied(address) {
            return false;
        }
        let address = address.to_canonical();
        let mut allowed = self.allowed.iter();
        match reach(address) {
            _ if allowed.any(|network| network.contains(&address)) => true,
            Reach::Public => true,
            Reach::Private => {
                self.private || host.is_some_and(|host| self.hosts.contains(without_dot(host)))
            }
            Reach::Special => false,
        }
    }

    fn is_denied(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let inner = embedded(address).map(IpAddr::V4);
        let within = |address| self.denied.iter().any(|network| network.contains(&address));
        within(address) || inner.is_some_and(within)
    }
}

impl Default for AddressGuard {
    fn default() -> Self {
        AddressGuard::public()
    }
}

/// Checks the form that every URL must have, whatever the guard allows. Returns the host.
pub(super) fn check_form(url: &Url) -> Result<Host<&str>, Error> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(denied("only `http` and `https` URLs can be fetched"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(denied(
            "the URL contains credentials: send them as a header instead",
        ));
    }
    match url.host() {
        Some(Host::Domain(name)) if name.len() > 254 => Err(denied("the host's name is too long")),
        Some(host) => Ok(host),
        None => Err(denied("the URL has no host")),
    }
}

/// Removes a trailing dot, which does not make it another name.
fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}
