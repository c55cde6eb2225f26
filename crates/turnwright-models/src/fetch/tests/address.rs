use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use crate::fetch::address::{Reach, reach};

fn of(address: &str) -> Reach {
    reach(address.parse().unwrap())
}

#[test]
fn public_addresses_are_public() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2a00:1450:4001:800::200e",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
        "2a00::5efe:8.8.8.8",
    ] {
        assert_eq!(of(address), Reach::Public, "{address}");
    }
}

#[test]
fn private_addresses_are_private() {
    for address in [
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.168.0.0",
        "192.168.255.255",
        "::ffff:10.0.0.7",
        "::ffff:127.0.0.1",
        "::1",
        "fc00::",
        "fdff:ffff::1",
    ] {
        assert_eq!(of(address), Reach::Private, "{address}");
    }
}

#[test]
fn special_addresses_are_special() {
    for address in [
        "0.0.0.0",
        "0.1.2.3",
        "100.100.100.200",
        "168.63.129.16",
        "169.254.0.0",
        "169.254.169.254",
        "169.254.170.2",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::ffff:169.254.169.254",
        "::ffff:0.0.0.0",
        // IPv4 in an older form, and in one for translators.
        "::127.0.0.1",
        "::169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::169.254.169.254",
        "64:ff9b:0:0:0:1::",
        "64:ff9b:1::8.8.8.8",
        "100::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:10::1",
        "2001:20::1",
        "2001:1ff:ffff::1",
        "2001:db8::1",
        "2001:db8::5efe:8.8.8.8",
        "2002:a00:1::1",
        "2002:7f00:1::1",
        "2002:a9fe:a9fe::1",
        "2a00::5efe:10.0.0.1",
        "2a00::200:5efe:a9fe:a9fe",
        "3fff::1",
        "3fff:fff:ffff::1",
        "4000::1",
        "5f00::1",
        "fd00:ec2::254",
        "fd00:c1::a9fe:a9fe",
        "fd00:42::42",
        "fd20:ce::254",
        "fe80::1",
        "fe80::a9fe:a9fe",
        "febf::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert_eq!(of(address), Reach::Special, "{address}");
    }
}

/// The first and last address of every range that is not public, written independently of the tables.
const NOT_PUBLIC: [(&str, &str); 17] = [
    ("0.0.0.0", "0.255.255.255"),
    ("10.0.0.0", "10.255.255.255"),
    ("100.64.0.0", "100.127.255.255"),
    ("127.0.0.0", "127.255.255.255"),
    ("168.63.129.16", "168.63.129.16"),
    ("169.254.0.0", "169.254.255.255"),
    ("172.16.0.0", "172.31.255.255"),
    ("192.0.0.0", "192.0.0.255"),
    ("192.0.2.0", "192.0.2.255"),
    ("192.88.99.0", "192.88.99.255"),
    ("192.168.0.0", "192.168.255.255"),
    ("198.18.0.0", "198.19.255.255"),
    ("198.51.100.0", "198.51.100.255"),
    ("203.0.113.0", "203.0.113.255"),
    ("224.0.0.0", "239.255.255.255"),
    ("240.0.0.0", "255.255.255.254"),
    ("255.255.255.255", "255.255.255.255"),
];

fn listed_public(address: Ipv4Addr) -> bool {
    let bound = |text: &str| text.parse::<Ipv4Addr>().unwrap();
    !NOT_PUBLIC
        .iter()
        .any(|(first, last)| (bound(first)..=bound(last)).contains(&address))
}

fn plainly_public(address: Ipv6Addr) -> bool {
    let octets = address.octets();
    let [a, b, c, d, ..] = octets;
    let inner = |at: usize| {
        let four: [u8; 4] = octets[at..at + 4].try_into().unwrap();
        listed_public(four.into())
    };
    if octets[..10] == [0; 10] && octets[10..12] == [0xff; 2] {
        return inner(12);
    }
    if octets[..12] == [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0] {
        return inner(12);
    }
    let tunnel = matches!(octets[8..12], [0 | 2, 0, 0x5e, 0xfe]);
    (0x20..0x40).contains(&a)
        && !(a == 0x20 && b == 0x01 && c < 2)
        && !(a == 0x20 && b == 0x01 && c == 0x0d && d == 0xb8)
        && !(a == 0x3f && b == 0xff && c < 0x10)
        && (!(a == 0x20 && b == 0x02) || inner(2))
        && (!tunnel || (a == 0x20 && b == 0x02) || inner(12))
}

/// Generates IPv6 addresses, many of them near special ranges.
fn some_v6() -> impl Strategy<Value = Ipv6Addr> {
    let begun = proptest::sample::select(vec![
        "::",
        "::ffff:0:0",
        "64:ff9b::",
        "64:ff9b:1::",
        "100::",
        "2000::",
        "2001::",
        "2001:200::",
        "2001:db8::",
        "2001:db9::",
        "2002::",
        "2a00::5efe:0:0",
        "2a00::200:5efe:0:0",
        "3fff::",
        "3fff:1000::",
        "5f00::",
        "fc00::",
        "fe80::",
        "fec0::",
        "ff00::",
    ]);
    let near = (begun, any::<u128>(), 0_u32..128).prop_map(|(begun, noise, bits)| {
        let begun: Ipv6Addr = begun.parse().unwrap();
        Ipv6Addr::from_bits(begun.to_bits() ^ (noise >> bits))
    });
    prop_oneof![near, any::<u128>().prop_map(Ipv6Addr::from_bits)]
}

proptest! {
    #[test]
    fn ipv4_is_public_unless_it_is_listed(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        prop_assert_eq!(reach(address.into()) == Reach::Public, listed_public(address));
    }

    #[test]
    fn ipv4_range_boundaries_are_classified_correctly(at in 0_usize..17, by in -2_i32..=2) {
        let (first, last) = NOT_PUBLIC[at];
        for end in [first, last] {
            let end: Ipv4Addr = end.parse().unwrap();
            let address = Ipv4Addr::from_bits(end.to_bits().wrapping_add_signed(by));
            prop_assert_eq!(reach(address.into()) == Reach::Public, listed_public(address));
        }
    }

    #[test]
    fn ipv6_classification_matches_the_rules(address in some_v6()) {
        prop_assert_eq!(reach(address.into()) == Reach::Public, plainly_public(address), "{}", address);
    }

    #[test]
    fn ipv4_mapped_ipv6_is_classified_as_ipv4(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        prop_assert_eq!(reach(IpAddr::V6(address.to_ipv6_mapped())), reach(address.into()));
    }
}
