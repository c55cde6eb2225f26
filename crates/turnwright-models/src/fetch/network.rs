//! Networks: an address and how many of its bits count.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The addresses that share their first bits with one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    first: IpAddr,
    bits: u32,
}

/// A network from a table: the address must be its first.
pub(super) const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u32) -> Network {
    let first = IpAddr::V4(Ipv4Addr::new(a, b, c, d));
    Network { first, bits }
}

/// A network from a table, given as its first two groups.
pub(super) const fn v6(a: u16, b: u16, bits: u32) -> Network {
    v6_host([a, b, 0, 0, 0, 0, 0, 0], bits)
}

/// A network from a table, given as all of its groups.
pub(super) const fn v6_host(groups: [u16; 8], bits: u32) -> Network {
    let [a, b, c, d, e, f, g, h] = groups;
    let first = IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h));
    Network { first, bits }
}

impl Network {
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let differing = first.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= self.bits
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let differing = first.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= self.bits
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    /// Whether the address is the first of the network: nothing is set beyond the bits that count.
    fn begins(&self) -> bool {
        let zeros = match self.first {
            IpAddr::V4(first) => first.to_bits().trailing_zeros() + self.bits >= 32,
            IpAddr::V6(first) => first.to_bits().trailing_zeros() + self.bits >= 128,
        };
        zeros || self.first.is_unspecified()
    }
}

impl From<IpAddr> for Network {
    /// The network of one address.
    fn from(address: IpAddr) -> Self {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Network {
            first: address,
            bits,
        }
    }
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "is not a network: write it like `10.1.0.0/16` or `fd12::/48`";
        let (address, bits) = text
            .split_once('/')
            .map_or((text, None), |(address, bits)| (address, Some(bits)));
        let first: IpAddr = address.parse().map_err(|_| FORM)?;
        if matches!(first, IpAddr::V6(first) if first.to_ipv4_mapped().is_some()) {
            return Err("is an IPv4 network in the form of IPv6: write it as IPv4");
        }
        let mut network = Network::from(first);
        if let Some(bits) = bits {
            let plain = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
            let bits: u32 = bits.parse().ok().filter(|_| plain).ok_or(FORM)?;
            if bits > network.bits {
                return Err("has a prefix longer than its address");
            }
            network.bits = bits;
        }
        if !network.begins() {
            return Err("has bits set beyond its prefix: write the first address of the network");
        }
        Ok(network)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}
