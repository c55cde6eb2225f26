//! Where may be fetched from.

use std::collections::BTreeSet;
use std::net::IpAddr;

use turnwright_core::Error;
use url::{Host, Url};

use super::address::{Reach, carried, reach};
use super::failure::{invalid, refused};
use super::network::Network;

/// Where may be fetched from: public addresses, ports 80 and 443, unless more is opened on purpose.
///
/// ```
/// use turnwright_models::fetch::AddressGuard;
///
/// let guard = AddressGuard::public().allow_network("10.1.0.0/16").refuse_network("10.1.7.0/24");
/// assert!(guard.permits("10.1.2.3".parse()?));
/// assert!(!guard.permits("10.1.7.3".parse()?));
/// assert!(!guard.permits("127.0.0.1".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
///
/// What is opened is open to every URL, whoever wrote it, and to every redirect. Networks that translate IPv4 under a
/// prefix of their own (NAT64) cannot be told from others: name such a prefix to [`AddressGuard::refuse_network`].
#[must_use = "a guard does nothing until a fetcher is built with it"]
#[derive(Clone, Debug)]
pub struct AddressGuard {
    private: bool,
    https_only: bool,
    hosts: BTreeSet<String>,
    allowed: Vec<Network>,
    refused: Vec<Network>,
    ports: BTreeSet<u16>,
    mistakes: Vec<String>,
}

impl AddressGuard {
    /// Public addresses alone.
    pub fn public() -> Self {
        AddressGuard {
            private: false,
            https_only: false,
            hosts: BTreeSet::new(),
            allowed: Vec::new(),
            refused: Vec::new(),
            ports: BTreeSet::from([80, 443]),
            mistakes: Vec::new(),
        }
    }

    /// Private networks and this machine too, under any name. Metadata of clouds, link-local addresses and others that no
    /// file is served from stay refused: [`AddressGuard::allow_network`] opens those.
    pub fn allow_private(mut self) -> Self {
        self.private = true;
        self
    }

    /// This host, also if its addresses are private. The name must be the URL's, whole.
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
            Err(_) => self.mistakes.push(format!(
                "`{host}` is not a host: write a name alone, and a port with `allow_port`"
            )),
        }
        self
    }

    /// The addresses of this network, whatever they are, under any name: `10.1.0.0/16`, `fd12::/48`, or one address.
    pub fn allow_network(mut self, network: &str) -> Self {
        match network.parse() {
            Ok(network) => self.allowed.push(network),
            Err(why) => self.mistakes.push(format!("`{network}` {why}")),
        }
        self
    }

    /// Never the addresses of this network, whatever else is allowed.
    pub fn refuse_network(mut self, network: &str) -> Self {
        match network.parse() {
            Ok(network) => self.refused.push(network),
            Err(why) => self.mistakes.push(format!("`{network}` {why}")),
        }
        self
    }

    /// This port too, of every host that may be fetched from. Without it only 80 and 443: what listens on other ports
    /// mostly does not expect a request.
    pub fn allow_port(mut self, port: u16) -> Self {
        self.ports.insert(port);
        self
    }

    /// Only `https`, not `http`.
    pub fn https_only(mut self) -> Self {
        self.https_only = true;
        self
    }

    /// Whether this address may be dialled, under whatever name.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        self.permits_for(None, address)
    }

    /// # Errors
    /// Something was opened or closed that is neither a host nor a network.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.mistakes.is_empty() {
            return Ok(());
        }
        Err(invalid(self.mistakes.join("; ")))
    }

    /// Judges all that can be judged before a look-up.
    pub(super) fn judge_url(&self, url: &Url) -> Result<(), Error> {
        let host = judge_form(url)?;
        if self.https_only && url.scheme() != "https" {
            return Err(refused(format!("{host} is not fetched from without TLS")));
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if !self.ports.contains(&port) {
            return Err(refused(format!(
                "port {port} of {host} is not fetched from; allow it with `AddressGuard::allow_port` if it is meant"
            )));
        }
        match host {
            Host::Ipv4(address) => self.judge(None, address.into()),
            Host::Ipv6(address) => self.judge(None, address.into()),
            Host::Domain(_) => Ok(()),
        }
    }

    /// Judges what a look-up gave. One address that is refused refuses all: a public name does not point inside, and which
    /// address of several is dialled is left to chance.
    pub(super) fn judge_answer(&self, host: &str, addresses: &[IpAddr]) -> Result<(), Error> {
        addresses
            .iter()
            .try_for_each(|address| self.judge(Some(host), *address))
    }

    fn judge(&self, host: Option<&str>, address: IpAddr) -> Result<(), Error> {
        if self.permits_for(host, address) {
            return Ok(());
        }
        let subject = match host {
            Some(host) => format!("{host} resolves to {address}, which"),
            None => address.to_string(),
        };
        Err(refused(if self.is_refused(address) {
            format!("{subject} is in a network that `AddressGuard::refuse_network` closed")
        } else {
            let way = match (reach(address), host) {
                (Reach::Private, Some(_)) => "`AddressGuard::allow_host`",
                _ => "`AddressGuard::allow_network`",
            };
            format!("{subject} is not a public address; allow it with {way} if it is meant")
        }))
    }

    fn permits_for(&self, host: Option<&str>, address: IpAddr) -> bool {
        if self.is_refused(address) {
            return false;
        }
        let address = address.to_canonical();
        if self.allowed.iter().any(|it| it.contains(address)) {
            return true;
        }
        match reach(address) {
            Reach::Public => true,
            Reach::Private => {
                self.private || host.is_some_and(|host| self.hosts.contains(without_dot(host)))
            }
            Reach::Special => false,
        }
    }

    fn is_refused(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let inner = carried(address).map(IpAddr::V4);
        let within = |address| self.refused.iter().any(|it| it.contains(address));
        within(address) || inner.is_some_and(within)
    }
}

impl Default for AddressGuard {
    fn default() -> Self {
        AddressGuard::public()
    }
}

/// What no guard can open: the form that every URL must have. Gives its host.
pub(super) fn judge_form(url: &Url) -> Result<Host<&str>, Error> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("only `http` and `https` are fetched from"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused(
            "a URL with credentials is not fetched from: give them as a header",
        ));
    }
    match url.host() {
        Some(Host::Domain(name)) if name.len() > 254 => Err(refused("the host's name is too long")),
        Some(host) => Ok(host),
        None => Err(refused("the URL has no host")),
    }
}

/// The dot at the end says that the name is whole, not that it is another.
fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}
