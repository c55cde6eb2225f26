use std::net::IpAddr;

use proptest::prelude::*;

use crate::fetch::address::parse;

#[test]
fn network_requires_its_first_address() {
    for right in [
        "10.1.0.0/16",
        "10.1.2.3",
        "10.1.2.3/32",
        "0.0.0.0/0",
        "::/0",
        "fd12::/48",
        "::1",
    ] {
        assert!(parse(right).is_ok(), "{right}");
    }
    for (wrong, why) in [
        ("", "is not a network"),
        ("10.1", "is not a network"),
        ("10.1.0.0/", "is not a network"),
        ("10.1.0.0/+8", "is not a network"),
        ("10.1.0.0/8/8", "is not a network"),
        ("10.1.0.0/99999999999", "is not a network"),
        ("files.internal", "is not a network"),
        ("fe80::1%eth0", "is not a network"),
        ("10.0.0.0/33", "is not a network"),
        ("::/129", "is not a network"),
        ("10.1.2.3/16", "beyond its prefix"),
        ("fd12::1/48", "beyond its prefix"),
        ("::ffff:10.0.0.0/104", "write it as IPv4"),
    ] {
        let error = parse(wrong).unwrap_err();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

proptest! {
    #[test]
    fn network_contains_addresses_with_its_prefix(first: u128, other: u128, bits in 0_u32..=128) {
        let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
        let network = format!("{}/{bits}", IpAddr::V6((first & mask).into()));
        let network = parse(&network).or_else(|_| parse("::/128")).unwrap();
        let near = (first & mask) | (other & !mask);
        let mapped = near >> 32 == 0xffff;
        prop_assert!(mapped || network.contains(&IpAddr::V6(near.into())));
        let inside = other & mask == first & mask;
        prop_assert_eq!(network.contains(&IpAddr::V6(other.into())), inside);
        prop_assert!(!network.contains(&"10.0.0.1".parse::<IpAddr>().unwrap()));
    }

    #[test]
    fn any_text_parses_or_is_an_error(text in "[0-9a-f:./]{0,24}") {
        if let Ok(network) = parse(&text) {
            let first = text.split('/').next().unwrap_or_default();
            prop_assert!(network.contains(&first.parse::<IpAddr>().unwrap()));
        }
    }
}
