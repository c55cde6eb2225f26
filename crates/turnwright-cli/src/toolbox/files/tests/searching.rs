//! `search_files`.

use serde_json::{Value, json};

use super::{done, failure};
use crate::toolbox::tests::Scratch;

#[tokio::test]
async fn matching_lines_have_their_path_and_number() {
    let folder = Scratch::new();
    folder.write("a.txt", "one\nTwo\r\nthree two\n");
    folder.write("sub/b.rs", "// two\n");
    folder.write("bin", b"two\0two");
    folder.write("long.txt", "two".repeat(1_000));
    let search = async |args: Value| done(&folder, "search_files", args).await;
    let glob = json!({ "pattern": "two", "glob": "!long.txt" });
    assert_eq!(
        search(glob).await,
        "a.txt:3: three two\nsub/b.rs:1: // two\n"
    );
    let any_case = json!({ "pattern": "^two", "case_insensitive": true, "path": "a.txt" });
    assert_eq!(search(any_case).await, "a.txt:2: Two\n");
    let long = search(json!({ "pattern": "two", "glob": "long.txt" })).await;
    assert_eq!(
        long.chars().count(),
        "long.txt:1: …\n".chars().count() + 300
    );
    let cut = search(json!({ "pattern": "o", "limit": 1 })).await;
    assert!(cut.starts_with("a.txt:1: one\n… and more"), "{cut}");
    let none = search(json!({ "pattern": "four" })).await;
    assert_eq!(none, "No line in 4 files matches.");
    let bad = failure(&folder, "search_files", json!({ "pattern": "(" })).await;
    assert!(bad.starts_with("Invalid pattern"), "{bad}");
    let bomb = json!({ "pattern": "((((a{99}){99}){99}){99})" });
    let bomb = failure(&folder, "search_files", bomb).await;
    assert!(bomb.contains("pattern"), "{bomb}");
}
