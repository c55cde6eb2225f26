use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use turnwright_core::ErrorCode;
use url::Url;

use super::rig::Rig;
use crate::fetch::AddressGuard;
use crate::fetch::guard::check_form;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn judged(guard: &AddressGuard, url: &str) -> Result<(), String> {
    let judged = guard.check_url(&Url::parse(url).unwrap());
    judged.map_err(|error| error.message().to_owned())
}

#[test]
fn allowed_network_does_not_allow_its_neighbours() {
    let guard = AddressGuard::public().allow_network("10.1.0.0/16");
    assert!(guard.permits(ip("10.1.255.255")));
    assert!(guard.permits(ip("::ffff:10.1.0.1")));
    assert!(!guard.permits(ip("10.2.0.0")));
    assert!(!guard.permits(ip("64:ff9b::10.1.0.1")));
    assert!(!guard.permits(ip("127.0.0.1")));
}

#[test]
fn allow_private_does_not_allow_cloud_metadata() {
    let guard = AddressGuard::public().allow_private();
    for address in ["10.0.0.7", "127.0.0.1", "::1", "fd12::1", "192.168.1.1"] {
        assert!(guard.permits(ip(address)), "{address}");
    }
    for address in [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fd00:ec2::254",
        "fe80::1",
        "0.0.0.0",
        "::",
        "100.100.100.200",
        "224.0.0.1",
        "64:ff9b::10.0.0.1",
        "2002:a00:1::",
    ] {
        assert!(!guard.permits(ip(address)), "{address}");
    }
    let named = guard.allow_network("169.254.169.254");
    assert!(named.permits(ip("169.254.169.254")));
}

#[test]
fn allowed_host_is_allowed_only_by_that_name() {
    let guard = AddressGuard::public().allow_host("Files.Internal");
    let inside = [ip("10.0.0.7")];
    assert!(guard.check_resolved("files.internal", &inside).is_ok());
    assert!(guard.check_resolved("files.internal.", &inside).is_ok());
    for other in [
        "internal",
        "x.files.internal",
        "files.internal.evil.example",
    ] {
        assert!(guard.check_resolved(other, &inside).is_err(), "{other}");
    }
    let metadata = [ip("169.254.169.254")];
    assert!(guard.check_resolved("files.internal", &metadata).is_err());
    assert!(judged(&guard, "http://10.0.0.7/").is_err());
}

#[test]
fn allowed_host_may_be_an_ip_address() {
    let guard = AddressGuard::public()
        .allow_host("10.0.0.7")
        .allow_host("[fd12::7]");
    assert_eq!(judged(&guard, "http://10.0.0.7/"), Ok(()));
    assert_eq!(judged(&guard, "http://[fd12::7]/"), Ok(()));
    assert!(judged(&guard, "http://10.0.0.8/").is_err());
}

#[test]
fn denied_network_takes_precedence() {
    let guard = AddressGuard::public()
        .allow_private()
        .allow_host("files.internal")
        .allow_network("0.0.0.0/0")
        .deny_network("10.1.7.0/24")
        .deny_network("8.8.8.0/24");
    for address in [
        "10.1.7.1",
        "8.8.8.8",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::",
    ] {
        assert!(!guard.permits(ip(address)), "{address}");
    }
    let closed = guard
        .check_resolved("files.internal", &[ip("10.1.7.1")])
        .unwrap_err();
    assert!(
        closed.message().contains("`AddressGuard::deny_network`"),
        "{closed}"
    );
    assert!(guard.permits(ip("10.1.8.1")));
}

#[test]
fn ports_are_allowed_individually() {
    let guard = AddressGuard::public();
    assert_eq!(judged(&guard, "http://media.example/"), Ok(()));
    assert_eq!(judged(&guard, "https://media.example/"), Ok(()));
    assert_eq!(judged(&guard, "http://media.example:443/"), Ok(()));
    let content = judged(&guard, "http://media.example:6379/").unwrap_err();
    assert!(
        content.contains("port 6379") && content.contains("`AddressGuard::allow_port`"),
        "{content}"
    );
    assert!(judged(&guard, "http://media.example:0/").is_err());
    let guard = guard.allow_port(8443);
    assert_eq!(judged(&guard, "https://media.example:8443/"), Ok(()));
    assert!(judged(&guard, "https://media.example:8444/").is_err());
}

#[test]
fn https_only_denies_plain_http() {
    let guard = AddressGuard::public().https_only();
    assert_eq!(judged(&guard, "https://media.example/"), Ok(()));
    assert!(judged(&guard, "http://media.example/").is_err());
}

#[tokio::test]
async fn invalid_rules_fail_the_build() {
    let rig = Rig::answering([]).await;
    let guard = AddressGuard::public()
        .allow_host("files.internal:9000")
        .allow_host("")
        .allow_network("10.1.2.3/16")
        .deny_network("inside");
    let mistake = rig.builder().guard(guard).build().unwrap_err();
    assert_eq!(mistake.code(), ErrorCode::INVALID_INITIAL_MEDIA_VALUE);
    for part in ["`files.internal:9000`", "``", "`10.1.2.3/16`", "`inside`"] {
        assert!(mistake.message().contains(part), "{mistake}");
    }
}

#[test]
fn other_schemes_and_credentials_are_rejected() {
    for url in [
        "file:///etc/passwd",
        "ftp://media.example/",
        "data:text/plain,x",
        "gopher://media.example/",
        "ws://media.example/",
        "unix:/run/docker.sock",
        "blob:https://media.example/x",
        "http://user@media.example/",
        "http://user:word@media.example/",
        "http://:word@media.example/",
        "http://media.example@10.0.0.7/",
    ] {
        let refused = check_form(&Url::parse(url).unwrap()).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::ADDRESS_DENIED, "{url}");
        assert!(!refused.to_string().contains("word"), "{refused}");
    }
}

#[test]
fn overlong_host_name_is_rejected() {
    let url = format!("http://{}example/", "a.".repeat(200));
    assert!(check_form(&Url::parse(&url).unwrap()).is_err());
}

/// Returns every way in which a URL can write an IPv4 address.
fn spellings(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let bits = address.to_bits();
    vec![
        format!("{address}"),
        format!("{address}."),
        format!("{bits}"),
        format!("0x{bits:x}"),
        format!("0X{bits:08X}"),
        format!("0{bits:o}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("000{a:o}.0x{b:x}.{c}.{d}"),
        format!("0x{a:x}.{}", bits & 0x00ff_ffff),
        format!("{a}.{b}.{}", bits & 0xffff),
        format!("%{:02x}{}", b'0', format_args!("{bits:o}")),
        address.to_string().chars().map(full_width).collect(),
        format!("{a}。{b}．{c}｡{d}"),
        format!("[::ffff:{address}]"),
        format!("[::FFFF:{:x}:{:x}]", bits >> 16, bits & 0xffff),
        format!("[0:0:0:0:0:ffff:{address}]"),
    ]
}

fn full_width(letter: char) -> char {
    match letter {
        '0'..='9' => char::from_u32('０' as u32 + letter as u32 - '0' as u32).unwrap(),
        other => other,
    }
}

proptest! {
    #[test]
    fn every_spelling_of_an_address_gets_the_same_verdict(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        let guard = AddressGuard::public();
        for spelling in spellings(address) {
            let url = Url::parse(&format!("http://{spelling}/")).unwrap();
            prop_assert_eq!(guard.check_url(&url).is_ok(), guard.permits(address.into()), "{}", url);
        }
    }

    #[test]
    fn every_spelling_of_a_private_address_is_denied(last: [u8; 3]) {
        let [b, c, d] = last;
        let guard = AddressGuard::public();
        for address in [
            Ipv4Addr::new(10, b, c, d),
            Ipv4Addr::new(127, b, c, d),
            Ipv4Addr::new(192, 168, c, d),
            Ipv4Addr::new(169, 254, c, d),
            Ipv4Addr::new(0, b, c, d),
        ] {
            for spelling in spellings(address) {
                let url = Url::parse(&format!("http://{spelling}/")).unwrap();
                prop_assert!(guard.check_url(&url).is_err(), "{}", url);
            }
        }
    }

    #[test]
    fn one_denied_address_denies_the_name(good in 1_usize..4, at in 0_usize..4) {
        let mut answer = vec![ip("93.184.215.14"); good];
        let guard = AddressGuard::public();
        prop_assert!(guard.check_resolved("media.example", &answer).is_ok());
        answer.insert(at.min(good), ip("10.0.0.7"));
        prop_assert!(guard.check_resolved("media.example", &answer).is_err());
    }
}
