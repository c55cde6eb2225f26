//! Links, pipes and sockets.

use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::prop;
use proptest::strategy::{Strategy as _, ValueTree as _};
use serde_json::json;
use turnwright::approval::{ApprovalRequest, GateAnswer};
use turnwright::prelude::*;

use super::{done, failure, tools};
use crate::toolbox::files::folder::Folder;
use crate::toolbox::tests::{Scratch, result_of};

#[test]
fn no_generated_path_leaves_the_directory() {
    let outside = Scratch::new();
    outside.write("a.txt", "SECRET");
    let folder = Scratch::new();
    folder.write("in/a.txt", "inside");
    folder.write("a.txt", "inside");
    let to = |target: &Path, name: &str| symlink(target, folder.path().join(name)).unwrap();
    to(outside.path(), "out");
    to(Path::new(".."), "up");
    to(Path::new("in"), "within");
    to(Path::new("../.."), "in/up");
    to(&folder.path().join("in"), "whole");
    let sibling = outside.path().file_name().unwrap().to_str().unwrap();
    let steps = [
        "..", ".", "", "/", "in", "out", "up", "within", "whole", "a.txt", "tmp", sibling,
    ];
    let opened = Folder::open(folder.path()).unwrap();
    let mut reached = 0;
    let paths = prop::collection::vec(
        prop::sample::select(steps.map(str::to_owned).to_vec()),
        1..7,
    );
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..5_000 {
        let path = paths.new_tree(&mut runner).unwrap().current().join("/");
        let resolved = opened.resolve(&path).ok();
        if let Some(Ok(mut file)) = resolved.map(|path| opened.file(&path)) {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "inside", "{path}");
            reached += 1;
        }
    }
    assert!(reached > 50, "{reached}");
}

#[tokio::test]
async fn no_link_leaves_the_directory() {
    let outside = Scratch::new();
    outside.write("secret.txt", "SECRET");
    let folder = Scratch::new();
    folder.write("in/a.txt", "inside");
    symlink(
        outside.path().join("secret.txt"),
        folder.path().join("file"),
    )
    .unwrap();
    symlink(outside.path(), folder.path().join("folder")).unwrap();
    symlink("../..", folder.path().join("in/up")).unwrap();
    for path in ["file", "folder/secret.txt", "in/up/etc/passwd"] {
        let message = failure(&folder, "read_file", json!({ "path": path })).await;
        assert!(
            message.contains("outside the directory"),
            "{path}: {message}"
        );
    }
    for path in ["folder", "in/up"] {
        failure(&folder, "list_files", json!({ "path": path })).await;
        let search = json!({ "path": path, "pattern": "SECRET" });
        failure(&folder, "search_files", search).await;
    }
    let listed = done(&folder, "list_files", json!({})).await;
    assert_eq!(
        listed,
        "file (link)\nfolder (link)\nin/\nin/a.txt\nin/up (link)\n"
    );
    let found = done(
        &folder,
        "search_files",
        json!({ "pattern": "SECRET|inside" }),
    )
    .await;
    assert_eq!(found, "in/a.txt:1: inside\n");
}

#[tokio::test]
async fn a_link_within_the_directory_is_read_and_a_cycle_is_refused() {
    let folder = Scratch::new();
    folder.write("real/a.txt", "inside");
    symlink("real/a.txt", folder.path().join("a")).unwrap();
    symlink("circle", folder.path().join("circle")).unwrap();
    symlink("..", folder.path().join("real/back")).unwrap();
    assert_eq!(
        done(&folder, "read_file", json!({ "path": "a" })).await,
        "inside"
    );
    assert_eq!(
        done(&folder, "read_file", json!({ "path": "real/back/a" })).await,
        "inside"
    );
    failure(&folder, "read_file", json!({ "path": "circle" })).await;
    let listed = done(&folder, "list_files", json!({ "depth": 64 })).await;
    assert_eq!(
        listed,
        "a (link)\ncircle (link)\nreal/\nreal/a.txt\nreal/back (link)\n"
    );
}

/// A directory with hidden files, and links to them: direct, in a chain, to a directory, through a directory.
fn with_links_to_hidden() -> Scratch {
    let folder = Scratch::new();
    folder.write(".env", "KEY=1\n");
    folder.write(".git/config", "KEY=1\n");
    folder.write("deep/.aws/credentials", "KEY=1\n");
    folder.write("plain.txt", "KEY is not here\n");
    for (target, link) in [
        (".env", "notes.txt"),
        ("notes.txt", "chain.txt"),
        (".git", "conf"),
        ("../.env", "deep/up.txt"),
        ("deep", "shallow"),
        ("../.env", ".git/other"),
        ("plain.txt", "fine.txt"),
    ] {
        symlink(target, folder.path().join(link)).unwrap();
    }
    folder
}

#[tokio::test]
async fn a_link_to_a_hidden_path_is_refused_and_names_it() {
    let folder = with_links_to_hidden();
    for (named, target) in [
        ("notes.txt", ".env"),
        ("chain.txt", ".env"),
        ("./plain.txt/../chain.txt", ".env"),
        ("conf/config", ".git/config"),
        ("deep/up.txt", ".env"),
        ("shallow/up.txt", ".env"),
    ] {
        for (tool, args) in [
            ("read_file", json!({ "path": named })),
            ("search_files", json!({ "path": named, "pattern": "KEY" })),
            ("list_files", json!({ "path": named })),
        ] {
            let message = result_of(tools(folder.path()).unwrap(), tool, args).await;
            // A file is not a directory: on most systems such a path does not exist.
            if named.contains("plain.txt/..") {
                message.unwrap_err();
                continue;
            }
            let message = message.unwrap_err();
            assert!(
                message.contains(&format!("hidden path `{target}`")) && !message.contains("KEY"),
                "{tool} {named}: {message}"
            );
        }
    }
    for tool in ["list_files", "search_files"] {
        let mut args = json!({ "path": "conf" });
        if tool == "search_files" {
            args["pattern"] = json!("KEY");
        }
        let message = failure(&folder, tool, args).await;
        assert!(message.contains("hidden path `.git`"), "{tool}: {message}");
    }
    let all = json!({ "pattern": "KEY" });
    assert_eq!(
        done(&folder, "search_files", all).await,
        "plain.txt:1: KEY is not here\n"
    );
    let fine = json!({ "path": "fine.txt" });
    assert_eq!(done(&folder, "read_file", fine).await, "KEY is not here\n");
}

#[tokio::test]
async fn an_approval_applies_only_to_the_hidden_path_that_was_named() {
    let folder = with_links_to_hidden();
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new(tools(folder.path()).unwrap()).unwrap())
        .approver(|_: ApprovalRequest| async { GateAnswer::approve() })
        .build();
    for path in [".env", "deep/../.env", ".git/../.env", ".git/config"] {
        let read = ctx.call("read_file", json!({ "path": path })).await;
        assert_eq!(read.text().await.as_deref(), Some("KEY=1\n"), "{path}");
    }
    // Hidden itself, but a link to another hidden file than the approver saw.
    let other = ctx.call("read_file", json!({ "path": ".git/other" })).await;
    let message = other.text().await.unwrap();
    assert!(other.is_error() && message.contains("`.env`"), "{message}");
}

#[tokio::test]
async fn ignore_rules_apply_to_the_target_of_a_link() {
    let folder = Scratch::new();
    folder.write("sub/.gitignore", "*.log\n");
    folder.write("sub/in/a.log", "needle");
    folder.write("sub/in/a.txt", "needle");
    symlink("sub/in", folder.path().join("short")).unwrap();
    for path in ["short", "sub/../short", "sub/in"] {
        let listed = done(&folder, "list_files", json!({ "path": path })).await;
        assert_eq!(listed, "sub/in/a.txt\n", "{path}");
        let search = json!({ "path": path, "pattern": "needle" });
        let found = done(&folder, "search_files", search).await;
        assert_eq!(found, "sub/in/a.txt:1: needle\n", "{path}");
    }
}

#[tokio::test]
async fn a_link_to_a_hidden_file_that_is_swapped_in_is_not_read() {
    let folder = Scratch::new();
    folder.write(".secret/a.txt", "SECRET");
    folder.write("real/a.txt", "inside");
    let path = folder.path().to_owned();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = std::sync::Arc::clone(&stop);
    let swapper = std::thread::spawn(move || {
        let now = path.join("now");
        while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
            let _ = std::fs::rename(path.join("real"), &now);
            let _ = std::fs::rename(&now, path.join("real"));
            let _ = symlink(".secret", &now);
            let _ = std::fs::remove_file(&now);
        }
    });
    for _ in 0..300 {
        let tools = tools(folder.path()).unwrap();
        let args = json!({ "path": "now/a.txt" });
        if let Ok(text) = result_of(tools.clone(), "read_file", args).await {
            assert_eq!(text, "inside");
        }
        let args = json!({ "pattern": "SECRET|inside" });
        let found = result_of(tools, "search_files", args).await.unwrap();
        assert!(!found.contains("SECRET"), "{found}");
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap();
}

#[tokio::test]
async fn pipes_and_sockets_do_not_block() {
    let folder = Scratch::new();
    folder.write("a.txt", "needle");
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    std::process::Command::new("mkfifo")
        .arg(folder.path().join(".gitignore"))
        .status()
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("sock")).unwrap();
    for path in ["pipe", "sock"] {
        let message = failure(&folder, "read_file", json!({ "path": path })).await;
        assert!(message.contains("not a regular file"), "{message}");
    }
    let found = done(&folder, "search_files", json!({ "pattern": "needle" })).await;
    assert_eq!(found, "a.txt:1: needle\n");
    let listed = done(&folder, "list_files", json!({})).await;
    assert_eq!(listed, "a.txt\npipe (not a file)\nsock (not a file)\n");
}

#[tokio::test]
async fn a_link_that_is_swapped_in_does_not_leave_the_directory() {
    let outside = Scratch::new();
    outside.write("a.txt", "SECRET");
    let folder = Scratch::new();
    folder.write("real/a.txt", "inside");
    let (path, target) = (folder.path().to_owned(), outside.path().to_owned());
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = std::sync::Arc::clone(&stop);
    let swapper = std::thread::spawn(move || {
        while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
            let now = path.join("now");
            let _ = symlink(path.join("real"), &now);
            let _ = std::fs::remove_file(&now);
            let _ = symlink(&target, &now);
            let _ = std::fs::remove_file(&now);
            let _ = std::fs::rename(path.join("real"), &now);
            let _ = std::fs::rename(&now, path.join("real"));
        }
    });
    for _ in 0..300 {
        let tools = tools(folder.path()).unwrap();
        let args = json!({ "path": "now/a.txt" });
        if let Ok(text) = result_of(tools.clone(), "read_file", args).await {
            assert_eq!(text, "inside");
        }
        let args = json!({ "pattern": "SECRET|inside", "path": "." });
        let found = result_of(tools, "search_files", args).await.unwrap();
        assert!(!found.contains("SECRET"), "{found}");
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap();
}
