//! `list_files`, and rules that leave files out.

use serde_json::{Value, json};

use super::{done, failure};
use crate::toolbox::tests::Scratch;

#[tokio::test]
async fn ignored_and_hidden_files_are_left_out() {
    let folder = Scratch::new();
    folder.write(".gitignore", "*.log\n/target\n!keep.log\n");
    folder.write("sub/.gitignore", "local.txt\n!b.log\n");
    for name in [
        "a.txt",
        "a.log",
        "keep.log",
        "target/x.txt",
        "sub/target/y.txt",
        "sub/local.txt",
        "sub/b.log",
        ".env",
        ".git/config",
    ] {
        folder.write(name, "needle");
    }
    let listed = done(&folder, "list_files", json!({})).await;
    assert_eq!(
        listed,
        "a.txt\nkeep.log\nsub/\nsub/b.log\nsub/target/\nsub/target/y.txt\n"
    );
    let listed = done(&folder, "list_files", json!({ "path": "sub" })).await;
    assert_eq!(listed, "sub/b.log\nsub/target/\nsub/target/y.txt\n");
    let listed = done(&folder, "list_files", json!({ "hidden": true, "depth": 1 })).await;
    assert_eq!(listed, ".env\n.gitignore\na.txt\nkeep.log\nsub/\n");
    // A directory that is named is listed even if it is ignored.
    let listed = done(&folder, "list_files", json!({ "path": "target/" })).await;
    assert_eq!(listed, "target/x.txt\n");
    let found = done(&folder, "search_files", json!({ "pattern": "needle" })).await;
    assert_eq!(
        found,
        "a.txt:1: needle\nkeep.log:1: needle\nsub/b.log:1: needle\nsub/target/y.txt:1: needle\n"
    );
}

#[tokio::test]
async fn a_glob_and_a_depth_narrow_what_is_listed() {
    let folder = Scratch::new();
    for name in ["a.rs", "a.md", "x/b.rs", "x/y/c.rs", "x/y/z/d.rs"] {
        folder.write(name, "");
    }
    let list = async |args: Value| done(&folder, "list_files", args).await;
    assert_eq!(
        list(json!({ "glob": "*.rs" })).await,
        "a.rs\nx/b.rs\nx/y/c.rs\nx/y/z/d.rs\n"
    );
    assert_eq!(
        list(json!({ "glob": "x/**/*.rs", "depth": 3 })).await,
        "x/b.rs\nx/y/c.rs\n"
    );
    assert_eq!(list(json!({ "glob": "!*.rs" })).await, "a.md\n");
    assert_eq!(list(json!({ "depth": 1 })).await, "a.md\na.rs\nx/\n");
    assert_eq!(list(json!({ "glob": "*.py" })).await, "No files found.");
    let bad = failure(&folder, "list_files", json!({ "glob": "[" })).await;
    assert!(bad.starts_with("Invalid glob"), "{bad}");
}

#[tokio::test]
async fn a_truncated_list_says_so() {
    let folder = Scratch::new();
    for n in 0..1_001 {
        folder.write(&format!("{n:04}"), "");
    }
    let listed = done(&folder, "list_files", json!({})).await;
    assert_eq!(listed.lines().count(), 1_001);
    assert!(listed.lines().last().unwrap().starts_with("… and more"));
    std::fs::remove_file(folder.path().join("0000")).unwrap();
    let listed = done(&folder, "list_files", json!({})).await;
    assert_eq!(listed.lines().last(), Some("1000"));
}

#[tokio::test]
async fn hostile_ignore_rules_are_skipped() {
    let folder = Scratch::new();
    let nested = format!("{}a{}\n", "{".repeat(5_000), "}".repeat(5_000));
    let many = "*abcdef*?[a-z]*{a,b}x\n".repeat(40_000);
    folder.write(".gitignore", format!("{nested}secret.txt\n"));
    folder.write("a.txt", "a");
    folder.write("secret.txt", "b");
    folder.write("deep/.gitignore", many);
    folder.write("deep/b.txt", "b");
    // The valid rules still apply.
    let listed = done(&folder, "list_files", json!({})).await;
    assert_eq!(listed, "a.txt\ndeep/\ndeep/b.txt\n");
}
