//! Paths that lead out of the directory, or to hidden files.

use serde_json::json;

use super::{done, failure};
use crate::toolbox::tests::Scratch;

#[tokio::test]
async fn no_path_leaves_the_directory() {
    let outside = Scratch::new();
    let secret = outside.write("secret.txt", "SECRET");
    let folder = Scratch::new();
    folder.write("in/a.txt", "inside");
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    for path in [
        format!("../{name}/secret.txt"),
        format!("in/../../{name}/secret.txt"),
        secret.to_str().unwrap().to_owned(),
        "/etc/passwd".to_owned(),
        "..".to_owned(),
        "/".to_owned(),
        "in/a.txt/../../../etc/passwd".to_owned(),
        "a\0b".to_owned(),
    ] {
        for (tool, args) in [
            ("read_file", json!({ "path": path })),
            ("list_files", json!({ "path": path })),
            (
                "search_files",
                json!({ "path": path, "pattern": "SECRET|root" }),
            ),
        ] {
            let message = failure(&folder, tool, args).await;
            assert!(!message.contains("SECRET"), "{tool} {path}: {message}");
        }
    }
}

#[tokio::test]
async fn hidden_files_need_approval() {
    let folder = Scratch::new();
    folder.write(".env", "KEY=1\n");
    folder.write("a/.git/config", "KEY=1\n");
    folder.write("a.b/c.txt", "KEY=1\n");
    for path in [".env", "./.env", "a/.git/config", "a.b/../.env"] {
        let refused = failure(&folder, "read_file", json!({ "path": path })).await;
        assert!(refused.contains("not approved"), "{path}: {refused}");
        let search = json!({ "pattern": "KEY", "path": path });
        let refused = failure(&folder, "search_files", search).await;
        assert!(refused.contains("not approved"), "{path}: {refused}");
    }
    let search = json!({ "pattern": "KEY", "hidden": true });
    let refused = failure(&folder, "search_files", search).await;
    assert!(refused.contains("not approved"), "{refused}");

    let plain = json!({ "path": "a.b/../a.b/c.txt" });
    assert_eq!(done(&folder, "read_file", plain).await, "KEY=1\n");
    let found = done(&folder, "search_files", json!({ "pattern": "KEY" })).await;
    assert!(
        found.contains("c.txt:1: KEY=1") && !found.contains(".env"),
        "{found}"
    );
}
