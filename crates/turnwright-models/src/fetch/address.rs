//! Classifies addresses as public, private or special.
//!
//! Follows the special-purpose registries of IANA, and is stricter where no files are ever served.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Where an address can be reached from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The Internet.
    Public,
    /// Machines of the same owner: private networks and this machine.
    Private,
    /// No file server: cloud metadata, link-local, multicast, reserved and similar. Must be allowed explicitly.
    Special,
}

const PRIVATE: [IpNet; 7] = [
    v4(10, 0, 0, 0, 8),
    // Carrier-grade NAT.
    v4(100, 64, 0, 0, 10),
    v4(127, 0, 0, 0, 8),
    v4(172, 16, 0, 0, 12),
    v4(192, 168, 0, 0, 16),
    v6_host([0, 0, 0, 0, 0, 0, 0, 1], 128),
    // Unique local.
    v6(0xfc00, 0, 7),
];

/// Exceptions within wider ranges.
const SPECIAL: [IpNet; 19] = [
    // On many systems this is the machine itself.
    v4(0, 0, 0, 0, 8),
    // Metadata of Alibaba Cloud, inside the carrier-grade NAT range.
    v4(100, 100, 100, 200, 32),
    // Azure's services for virtual machines, inside public addresses.
    v4(168, 63, 129, 16, 32),
    // Link-local, and the metadata of most clouds.
    v4(169, 254, 0, 0, 16),
    v4(192, 0, 0, 0, 24),
    // Documentation: this one and two below.
    v4(192, 0, 2, 0, 24),
    // Relays of 6to4, deprecated.
    v4(192, 88, 99, 0, 24),
    // Benchmarks.
    v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    // Multicast.
    v4(224, 0, 0, 0, 4),
    // Reserved, and broadcast.
    v4(240, 0, 0, 0, 4),
    // Cloud metadata, inside the unique local addresses: Amazon, Oracle, Scaleway, Google.
    v6(0xfd00, 0x0ec2, 32),
    v6_host([0xfd00, 0x00c1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128),
    v6_host([0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x0042], 128),
    v6_host([0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254], 128),
    // Protocols: Teredo, ORCHID, benchmarks and others.
    v6(0x2001, 0, 23),
    // Documentation.
    v6(0x2001, 0x0db8, 32),
    v6(0x3fff, 0, 20),
];

/// All allocated public addresses, and those that translate to public IPv4. The rest is unallocated.
const PUBLIC_V6: [IpNet; 2] = [GLOBAL, NAT64];

const GLOBAL: IpNet = v6(0x2000, 0, 3);
const NAT64: IpNet = v6(0x0064, 0xff9b, 96);
const SIX_TO_FOUR: IpNet = v6(0x2002, 0, 16);

/// Returns where this address can be reached from.
pub(super) fn reach(address: IpAddr) -> Reach {
    // IPv4-mapped IPv6 is dialled as IPv4.
    let address = address.to_canonical();
    let within = |networks: &[IpNet]| networks.iter().any(|network| network.contains(&address));
    // Traffic to an embedded address ends there, and no legitimate address embeds one that is not public.
    let embeds = embedded(address).is_some_and(|inner| reach(inner.into()) != Reach::Public);
    if embeds || within(&SPECIAL) {
        Reach::Special
    } else if within(&PRIVATE) {
        Reach::Private
    } else if address.is_ipv4() || within(&PUBLIC_V6) {
        Reach::Public
    } else {
        Reach::Special
    }
}

/// Returns the IPv4 address embedded in a NAT64, 6to4 or ISATAP address.
pub(super) fn embedded(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(inside) = address else {
        return None;
    };
    let [_, b, c, _, e, f, g, h] = inside.segments();
    if NAT64.contains(&address) {
        Some(joined(g, h))
    } else if SIX_TO_FOUR.contains(&address) {
        Some(joined(b, c))
    } else if GLOBAL.contains(&address) && matches!((e, f), (0 | 0x0200, 0x5efe)) {
        Some(joined(g, h))
    } else {
        None
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

/// Returns a network for a table. A prefix that is too long fails at compile time.
const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits))
}

/// Returns a network for a table, from its first two groups.
const fn v6(a: u16, b: u16, bits: u8) -> IpNet {
    v6_host([a, b, 0, 0, 0, 0, 0, 0], bits)
}

/// Returns a network for a table, from all groups.
const fn v6_host([a, b, c, d, e, f, g, h]: [u16; 8], bits: u8) -> IpNet {
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
