//! Networks from tables and from settings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Returns a network for a table. A prefix that is too long fails at compile time.
pub(super) const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits))
}

/// Returns a network for a table, from its first two groups.
pub(super) const fn v6(a: u16, b: u16, bits: u8) -> IpNet {
    v6_host([a, b, 0, 0, 0, 0, 0, 0], bits)
}

/// Returns a network for a table, from all groups.
pub(super) const fn v6_host([a, b, c, d, e, f, g, h]: [u16; 8], bits: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(
        Ipv6Addr::new(a, b, c, d, e, f, g, h),
        bits,
    ))
}

/// Parses a network or a single address. The error continues "`{text}` …".
pub(super) fn parse(text: &str) -> Result<IpNet, &'static str> {
    let address = text.parse::<IpAddr>().map(IpNet::from);
    let network = address
        .or_else(|_| text.parse::<IpNet>())
        .map_err(|_| "is not a network: write it like `10.1.0.0/16` or `fd12::/48`")?;
    if matches!(network, IpNet::V6(network) if network.addr().to_ipv4_mapped().is_some()) {
        return Err("is an IPv4 network in the form of IPv6: write it as IPv4");
    }
    if network != network.trunc() {
        return Err("has bits set beyond its prefix: write the first address of the network");
    }
    Ok(network)
}
