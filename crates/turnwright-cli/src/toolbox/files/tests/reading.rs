//! `read_file`.

use serde_json::json;
use turnwright::artifact::ArtifactKind;
use turnwright::record::ToolResults;

use super::{done, failure, tools};
use crate::toolbox::tests::{Scratch, call};

#[tokio::test]
async fn a_file_is_read_completely() {
    let folder = Scratch::new();
    folder.write("a/b.txt", "Grüße\n");
    folder.write("empty", "");
    for path in ["a/b.txt", "./a/b.txt", "a/../a/b.txt"] {
        assert_eq!(
            done(&folder, "read_file", json!({ "path": path })).await,
            "Grüße\n"
        );
    }
    assert_eq!(
        done(&folder, "read_file", json!({ "path": "empty" })).await,
        ""
    );
    let none = failure(&folder, "read_file", json!({ "path": "a/c.txt" })).await;
    assert_eq!(
        none,
        "`a/c.txt` does not exist. Use list_files to see what exists."
    );
    let is_folder = failure(&folder, "read_file", json!({ "path": "a" })).await;
    assert!(is_folder.contains("not a regular file"), "{is_folder}");
}

#[tokio::test]
async fn a_large_file_becomes_an_artifact() {
    let folder = Scratch::new();
    let text: String = (0..200_000).map(|n| format!("line {n}\n")).collect();
    folder.write("log.txt", &text);
    folder.write("exact.json", "1".repeat(64 << 10));
    let log = call(
        tools(folder.path()).unwrap(),
        "read_file",
        json!({ "path": "log.txt" }),
    )
    .await;
    assert_eq!(log.text().await, Some(text));
    assert!(!log.is_inline() && !log.is_trusted());
    let exact = json!({ "path": "exact.json" });
    let exact = call(tools(folder.path()).unwrap(), "read_file", exact).await;
    let ToolResults::Artifacts(artifacts) = exact.results() else {
        panic!("{exact:?}");
    };
    assert_eq!(
        (artifacts[0].kind(), artifacts[0].byte_length()),
        (ArtifactKind::JSON, 64 << 10)
    );
}

#[tokio::test]
async fn a_file_over_the_limit_is_refused_before_it_is_read() {
    let folder = Scratch::new();
    let path = folder.write("huge", "");
    // A sparse file.
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    let message = failure(&folder, "read_file", json!({ "path": "huge" })).await;
    assert!(
        message.contains("67.1 MB") && message.contains("too large"),
        "{message}"
    );
}

#[tokio::test]
async fn binary_files_are_refused_with_their_type() {
    let folder = Scratch::new();
    folder.write("a.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    folder.write("b.txt", b"abc\0def");
    let png = failure(&folder, "read_file", json!({ "path": "a.txt" })).await;
    assert_eq!(
        png,
        "`a.txt` is not text but image/png. Only text can be read."
    );
    let data = failure(&folder, "read_file", json!({ "path": "b.txt" })).await;
    assert!(data.contains("binary data"), "{data}");
}
