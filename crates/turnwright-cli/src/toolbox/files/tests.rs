//! The file tools stay in their directory.

use serde_json::{Value, json};
use turnwright::artifact::ArtifactKind;
use turnwright::record::ToolResults;

use super::tools;
use crate::toolbox::tests::{Scratch, call, result_of};

async fn done(folder: &Scratch, name: &str, args: Value) -> String {
    let tools = tools(folder.path()).unwrap();
    result_of(tools, name, args).await.unwrap()
}

async fn failure(folder: &Scratch, name: &str, args: Value) -> String {
    let tools = tools(folder.path()).unwrap();
    result_of(tools, name, args).await.unwrap_err()
}

#[tokio::test]
async fn a_file_is_read_completely() {
    let folder = Scratch::new("read");
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
    let folder = Scratch::new("large");
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
    let folder = Scratch::new("huge");
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
    let folder = Scratch::new("binary");
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

#[tokio::test]
async fn no_path_leaves_the_directory() {
    let outside = Scratch::new("paths-outside");
    let secret = outside.write("secret.txt", "SECRET");
    let folder = Scratch::new("paths");
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

#[cfg(unix)]
mod unix {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use turnwright::approval::{Approval, ApprovalRequest};
    use turnwright::prelude::*;

    use proptest::prelude::prop;
    use proptest::strategy::{Strategy as _, ValueTree as _};

    use super::*;
    use crate::toolbox::files::folder::Folder;

    #[test]
    fn no_generated_path_leaves_the_directory() {
        let outside = Scratch::new("any-outside");
        outside.write("a.txt", "SECRET");
        let folder = Scratch::new("any");
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
        let outside = Scratch::new("links-outside");
        outside.write("secret.txt", "SECRET");
        let folder = Scratch::new("links");
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
            assert!(message.contains("cannot be read"), "{path}: {message}");
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
        let folder = Scratch::new("circle");
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
    fn with_links_to_hidden(name: &str) -> Scratch {
        let folder = Scratch::new(name);
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
        let folder = with_links_to_hidden("links-hidden");
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
                    message.contains(&format!("hidden path `{target}`"))
                        && !message.contains("KEY"),
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
        let folder = with_links_to_hidden("links-approved");
        let ctx = DispatchContext::builder()
            .tools(ToolRegistry::new(tools(folder.path()).unwrap()).unwrap())
            .approver(|_: ApprovalRequest| async { Approval::Granted })
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
        let folder = Scratch::new("links-ignored");
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
        let folder = Scratch::new("swap-hidden");
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
        let folder = Scratch::new("pipes");
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
        let outside = Scratch::new("swap-outside");
        outside.write("a.txt", "SECRET");
        let folder = Scratch::new("swap");
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
}

#[tokio::test]
async fn ignored_and_hidden_files_are_left_out() {
    let folder = Scratch::new("ignore");
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
    let folder = Scratch::new("glob");
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
    let folder = Scratch::new("many");
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
async fn matching_lines_have_their_path_and_number() {
    let folder = Scratch::new("search");
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

#[tokio::test]
async fn hidden_files_need_approval() {
    let folder = Scratch::new("hidden");
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

#[tokio::test]
async fn hostile_ignore_rules_are_skipped() {
    let folder = Scratch::new("rules");
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
