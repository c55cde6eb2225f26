use turnwright_core::media::MediaKind;
use turnwright_core::{ErrorCode, Media};

use super::rig::{Rig, ok};
use super::{read, refusal};
use crate::fetch::AddressGuard;

#[tokio::test]
async fn addresses_in_urls_are_judged_before_anything_is_dialled() {
    let rig = Rig::answering([ok("secret")]).await;
    let fetcher = rig.fetcher();
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "10.0.0.7",
        "10.7",
        "192.168.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "①②⑦.⓪.⓪.①",
        "１２７.0.0.1",
        "127%2e0%2e0%2e1",
        "%31%32%37.0.0.1",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[fd00:ec2::254]",
        "[fe80::a9fe:a9fe]",
        "[fd12::1]",
        "[fe80::1]",
        "[ff02::1]",
    ] {
        let reader = fetcher.reader(&format!("http://{host}/")).unwrap();
        let error = read(&reader).await.unwrap_err();
        let text = refusal(&error).message();
        assert!(text.contains("is not a public address"), "{host}: {text}");
    }
    rig.saw_nothing();
    assert_eq!(rig.asked(), [""; 0]);
}

#[tokio::test]
async fn what_is_no_url_to_fetch_makes_no_reader() {
    let rig = Rig::answering([ok("secret")]).await;
    for url in [
        "",
        "media.example/a.png",
        "/a.png",
        "//media.example/a.png",
        "http://",
        "http:///",
        "file:///etc/passwd",
        "ftp://media.example/a",
        "data:image/png;base64,AAAA",
        "gopher://media.example/",
        "javascript:0",
        "http://user@media.example/",
        "http://user:word@media.example/",
        "http://[fe80::1%25eth0]/",
        "http://127.0.0.1:99999/",
        "http://1.2.3.4.5/",
        "http://256.256.256.256/",
        "http://0x1ffffffff/",
        "http://media example/",
        "http://[::1/",
        "http://a%00b/",
    ] {
        let refused = rig.fetcher().reader(url).map(drop).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::ADDRESS_DENIED, "{url}");
    }
    rig.saw_nothing();
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_with_what_to_do() {
    let rig = Rig::answering([ok("secret")]).await;
    rig.name("inside.example", &["10.0.0.7"]);
    let error = read(&rig.fetcher().reader("http://inside.example/").unwrap())
        .await
        .unwrap_err();
    assert_eq!(
        refusal(&error).message(),
        "inside.example resolves to 10.0.0.7, which is not a public address; \
         allow it with `AddressGuard::allow_host` if it is meant"
    );
    rig.saw_nothing();
    assert_eq!(rig.asked(), ["inside.example"]);
}

#[tokio::test]
async fn names_of_every_address_that_is_not_public_are_refused() {
    let rig = Rig::answering([ok("secret")]).await;
    for address in [
        "127.0.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "192.168.0.1",
        "::1",
        "::",
        "::ffff:10.0.0.7",
        "::ffff:169.254.169.254",
        "fd00:ec2::254",
        "fe80::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "::7f00:1",
        "224.0.0.1",
    ] {
        rig.name("inside.example", &[address]);
        for url in [
            "http://inside.example/",
            "https://inside.example/",
            "http://INSIDE.example/",
        ] {
            let error = read(&rig.fetcher().reader(url).unwrap()).await.unwrap_err();
            assert!(
                refusal(&error)
                    .message()
                    .contains("inside.example resolves to"),
                "{error}"
            );
        }
    }
    rig.saw_nothing();
}

#[tokio::test]
async fn a_name_of_which_one_address_leads_inside_is_refused() {
    let rig = Rig::answering([ok("secret")]).await;
    for mixed in [
        ["93.184.215.14", "10.0.0.7"],
        ["10.0.0.7", "93.184.215.14"],
        ["2606:4700::1", "::1"],
    ] {
        rig.name("mixed.example", &mixed);
        let error = read(&rig.fetcher().reader("http://mixed.example/").unwrap())
            .await
            .unwrap_err();
        refusal(&error);
    }
    rig.saw_nothing();
}

#[tokio::test]
async fn a_name_that_turns_inside_later_is_refused_then() {
    let rig = Rig::answering([ok("hello")]).await;
    rig.name_in_turn("turning.example", &[&["93.184.215.14"], &["127.0.0.1"]]);
    let reader = rig.fetcher().reader("http://turning.example/").unwrap();
    assert_eq!(read(&reader).await.unwrap(), b"hello");
    let error = read(&reader).await.unwrap_err();
    refusal(&error);
    assert_eq!(rig.dialled(), ["93.184.215.14"]);
    assert_eq!(rig.requests().len(), 1);
}

#[tokio::test]
async fn what_was_judged_is_dialled_without_a_second_look_up() {
    let rig = Rig::answering([ok("hello")]).await;
    rig.name_in_turn("turning.example", &[&["93.184.215.14"], &["10.0.0.7"]]);
    let reader = rig.fetcher().reader("http://turning.example/").unwrap();
    assert_eq!(read(&reader).await.unwrap(), b"hello");
    assert_eq!(rig.asked(), ["turning.example"]);
    assert_eq!(rig.dialled(), ["93.184.215.14"]);
}

#[tokio::test]
async fn what_was_opened_on_purpose_is_fetched() {
    let rig = Rig::answering([ok("hello")]).await;
    rig.name("files.internal", &["10.0.0.7", "fd12::7"]);
    let by_name = rig.guarded(AddressGuard::public().allow_host("files.internal"));
    let by_network = rig.guarded(AddressGuard::public().allow_network("10.0.0.0/24"));
    let reader = by_name.reader("http://files.internal/a").unwrap();
    assert_eq!(read(&reader).await.unwrap(), b"hello");
    let reader = by_network.reader("http://10.0.0.7/a").unwrap();
    assert_eq!(read(&reader).await.unwrap(), b"hello");
    let reader = by_network.reader("http://files.internal/a").unwrap();
    refusal(&read(&reader).await.unwrap_err());
    assert_eq!(rig.requests().len(), 2);
}

#[tokio::test]
async fn this_machine_is_fetched_from_where_it_and_its_port_are_opened() {
    let rig = Rig::answering([ok("hello")]).await;
    let port = rig.server.port();
    let url = format!("http://127.0.0.1:{port}/");
    let closed = rig.guarded(AddressGuard::public().allow_private());
    let error = read(&closed.reader(&url).unwrap()).await.unwrap_err();
    assert!(refusal(&error).message().contains("allow_port"));
    rig.saw_nothing();
    let open = rig.guarded(AddressGuard::public().allow_private().allow_port(port));
    assert_eq!(read(&open.reader(&url).unwrap()).await.unwrap(), b"hello");
}

#[tokio::test]
async fn a_port_that_was_not_opened_is_not_even_looked_up() {
    let rig = Rig::answering([ok("secret")]).await;
    let reader = rig.fetcher().reader("http://media.example:6379/").unwrap();
    refusal(&read(&reader).await.unwrap_err());
    rig.saw_nothing();
    assert_eq!(rig.asked(), [""; 0]);
}

#[tokio::test]
async fn a_refusal_reaches_who_reads_the_media() {
    let rig = Rig::answering([ok("secret")]).await;
    let reader = rig.fetcher().reader("http://10.0.0.7/").unwrap();
    let media = Media::retrieved_public(MediaKind::Image, "image/png", "a.png", reader);
    let error = media.build().unwrap().base64().await.unwrap_err();
    assert_eq!(
        refusal(&error).model_text(),
        "The address may not be fetched from."
    );
    rig.saw_nothing();
}

#[tokio::test]
async fn a_name_that_is_unknown_or_empty_cannot_be_reached() {
    let rig = Rig::answering([ok("secret")]).await;
    rig.name("empty.example", &[]);
    for (url, why) in [
        (
            "http://unknown.example/",
            "unknown.example cannot be reached: no such name",
        ),
        (
            "http://empty.example/",
            "empty.example cannot be reached: the name has no address",
        ),
    ] {
        let error = read(&rig.fetcher().reader(url).unwrap()).await.unwrap_err();
        assert_eq!(error.to_string(), why);
    }
    rig.saw_nothing();
}
