use turnwright_core::ErrorCode;

use super::read;
use super::rig::{Answer, Rig, redirect};

const URL: &str = "http://media.example/path-word/a.png?signature=query-word#fragment-word";

#[tokio::test]
async fn debug_of_a_reader_shows_only_the_host() {
    let rig = Rig::answering([]).await;
    let reader = rig.fetcher().reader(URL).unwrap();
    let reader = reader
        .header("authorization", "Bearer header-word")
        .unwrap();
    let shown = format!("{reader:?} {:?} {:?}", rig.fetcher(), rig.builder());
    assert!(shown.contains("media.example"), "{shown}");
    assert!(!shown.contains("word"), "{shown}");
}

#[tokio::test]
async fn errors_show_only_the_host_of_a_url() {
    for answer in [
        Answer::Text("HTTP/1.1 403 Forbidden\r\ncontent-length: 9\r\n\r\nbody-word".into()),
        Answer::Text("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nshort".into()),
        Answer::Text("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n".into()),
        Answer::Text("no HTTP word at all\r\n\r\n".into()),
        Answer::Text(String::new()),
        redirect("http://10.0.0.7/path-word?query-word"),
        redirect("http://inside.example/path-word?query-word"),
        redirect("/path-word?query-word"),
    ] {
        let rig = Rig::answering([answer]).await;
        rig.name("inside.example", &["10.0.0.7"]);
        let reader = rig.fetcher().reader(URL).unwrap();
        let reader = reader.header("x-key", "header-word").unwrap();
        let error = read(&reader).await.unwrap_err();
        let mut text = format!("{error} {error:?}");
        let mut cause: Option<&dyn std::error::Error> = error.get_ref().map(|item| item as _);
        while let Some(inside) = cause {
            text += &format!(" {inside} {inside:?}");
            cause = inside.source();
        }
        assert!(
            text.contains("example") || text.contains("10.0.0.7"),
            "{text}"
        );
        for word in ["path-word", "query-word", "header-word", "body-word"] {
            assert!(!text.contains(word), "{text}");
        }
    }
}

#[tokio::test]
async fn invalid_header_error_hides_its_value() {
    let rig = Rig::answering([]).await;
    let reader = rig.fetcher().reader(URL).unwrap();
    for (name, value) in [
        ("x-key", "word\r\nhost: inside.example"),
        ("x-key\r\n", "word"),
        ("", "word"),
        ("Host", "word.example"),
        ("Range", "bytes=0-word"),
        ("accept-encoding", "word"),
        ("Transfer-Encoding", "word"),
        ("proxy-authorization", "word"),
    ] {
        let refused = reader.clone().header(name, value).map(drop).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::INVALID_INITIAL_MEDIA_VALUE);
        assert!(
            !format!("{refused} {refused:?}").contains("word"),
            "{refused}"
        );
    }
}
