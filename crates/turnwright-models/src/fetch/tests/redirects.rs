use reqwest::header::HeaderValue;
use url::Url;

use super::rig::{Answer, Rig, ok, redirect};
use super::{read, refusal};
use crate::fetch::redirects::target;

#[tokio::test]
async fn every_redirect_is_resolved_and_checked() {
    let to_other = redirect("http://other.example/b?x=1");
    let rig = Rig::answering([redirect("/a"), to_other, redirect("c"), ok("hello")]).await;
    rig.name("other.example", &["1.1.1.1"]);
    let reader = rig.fetcher().reader("http://media.example/").unwrap();
    assert_eq!(read(&reader).await.unwrap(), b"hello");
    assert_eq!(
        rig.asked(),
        [
            "media.example",
            "media.example",
            "other.example",
            "other.example"
        ]
    );
    assert_eq!(
        rig.dialled(),
        ["93.184.215.14", "93.184.215.14", "1.1.1.1", "1.1.1.1"]
    );
    let requests = rig.requests();
    let lines: Vec<_> = requests
        .iter()
        .filter_map(|item| item.lines().next())
        .collect();
    let paths = [
        "GET / HTTP/1.1",
        "GET /a HTTP/1.1",
        "GET /b?x=1 HTTP/1.1",
        "GET /c HTTP/1.1",
    ];
    assert_eq!(lines, paths);
}

#[tokio::test]
async fn redirect_to_an_internal_address_is_denied() {
    for to in [
        "http://10.0.0.7/",
        "http://169.254.169.254/latest/meta-data/",
        "http://2130706433/",
        "//127.1/",
        "http://[::ffff:10.0.0.7]/",
        "http://[::1]/",
        "http://inside.example/",
        "http://mixed.example/",
        "http://media.example:6379/",
        "http://user:word@media.example/",
        "file:///etc/passwd",
        "ftp://media.example/",
        "data:text/plain,x",
        "http://",
    ] {
        let rig = Rig::answering([redirect(to), ok("secret")]).await;
        rig.name("inside.example", &["10.0.0.7"]);
        rig.name("mixed.example", &["1.1.1.1", "10.0.0.7"]);
        let reader = rig.fetcher().reader("http://media.example/").unwrap();
        let error = read(&reader).await.unwrap_err();
        assert!(!refusal(&error).message().contains("word"), "{to}: {error}");
        assert_eq!(rig.dialled(), ["93.184.215.14"], "{to}");
        assert_eq!(rig.requests().len(), 1, "{to}");
    }
}

#[tokio::test]
async fn host_that_rebinds_between_redirects_is_denied() {
    let rig = Rig::answering([redirect("/again"), ok("secret")]).await;
    rig.name_in_turn("turning.example", &[&["1.1.1.1"], &["127.0.0.1"]]);
    let reader = rig.fetcher().reader("http://turning.example/").unwrap();
    refusal(&read(&reader).await.unwrap_err());
    assert_eq!(rig.dialled(), ["1.1.1.1"]);
    assert_eq!(rig.requests().len(), 1);
}

#[tokio::test]
async fn number_of_redirects_is_limited() {
    let rig = Rig::answering([redirect("/")]).await;
    let reader = rig.fetcher().reader("http://media.example/").unwrap();
    let error = read(&reader).await.unwrap_err();
    assert!(error.to_string().contains("redirects too often"), "{error}");
    assert_eq!(rig.requests().len(), 6);

    let none = rig.builder().max_redirects(0).build().unwrap();
    read(&none.reader("http://media.example/").unwrap())
        .await
        .unwrap_err();
    assert_eq!(rig.requests().len(), 7);
}

#[tokio::test]
async fn redirect_to_an_invalid_url_is_denied() {
    for head in [
        "",
        "location: http://[::1\r\n",
        "location: http://1.2.3.4.5/\r\n",
    ] {
        let text = format!("HTTP/1.1 301 Moved\r\n{head}content-length: 0\r\n\r\n");
        let rig = Rig::answering([Answer::Text(text), ok("secret")]).await;
        let reader = rig.fetcher().reader("http://media.example/").unwrap();
        let error = read(&reader).await.unwrap_err();
        assert!(
            refusal(&error)
                .message()
                .contains("redirects to an invalid URL"),
            "{error}"
        );
        assert_eq!(rig.requests().len(), 1);
    }
}

#[test]
fn redirect_from_https_to_http_is_denied() {
    let url = Url::parse("https://media.example/a").unwrap();
    let to = |location| target(&url, Some(&HeaderValue::from_static(location)));
    assert_eq!(to("/b").unwrap().as_str(), "https://media.example/b");
    assert_eq!(
        to("//other.example/").unwrap().as_str(),
        "https://other.example/"
    );
    for down in [
        "http://media.example/a",
        "http://other.example/",
        "HTTP:\\\\other.example/",
    ] {
        let error = to(down).unwrap_err();
        assert!(
            error.message().contains("from `https` to `http`"),
            "{error}"
        );
    }
    let bytes = HeaderValue::from_bytes(b"/\xff\xfe").unwrap();
    assert!(target(&url, Some(&bytes)).is_err());
}

/// For each request, returns whether it had the header.
fn header_sent(rig: &Rig) -> Vec<bool> {
    let requests = rig.requests();
    requests
        .iter()
        .map(|item| item.contains("authorization: Bearer word"))
        .collect()
}

#[tokio::test]
async fn headers_are_dropped_on_cross_origin_redirect_even_if_it_leads_back() {
    let (away, back) = (
        redirect("http://other.example/"),
        redirect("http://media.example/"),
    );
    let rig = Rig::answering([redirect("/same"), away, back, ok("hello")]).await;
    rig.name("other.example", &["1.1.1.1"]);
    let reader = rig.fetcher().reader("http://media.example/").unwrap();
    let reader = reader.header("Authorization", "Bearer word").unwrap();
    assert_eq!(read(&reader).await.unwrap(), b"hello");
    assert_eq!(header_sent(&rig), [true, true, false, false]);
    for request in rig.requests() {
        assert!(
            !request.to_ascii_lowercase().contains("referer"),
            "{request}"
        );
        assert!(
            !request.to_ascii_lowercase().contains("cookie"),
            "{request}"
        );
    }
}
