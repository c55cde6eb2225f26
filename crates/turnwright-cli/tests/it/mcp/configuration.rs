//! Configurations that are wrong, and variables in them.

use serde_json::json;

use crate::mcp_server::{Setup, definition};
use crate::program::{Ran, program};

#[test]
fn an_invalid_configuration_is_refused_with_its_place() {
    let setup = Setup::new();
    let server = |server: &str| format!(r#"{{"mcpServers": {{"files": {server}}}}}"#);
    for (text, expected) in [
        ("not json".to_owned(), "line 1 column 2"),
        (
            r#"{"mcpServers": []}"#.to_owned(),
            "expected an object at line 1",
        ),
        ("{}".to_owned(), "has no `mcpServers`"),
        (r#"{"servers": {}}"#.to_owned(), "rename it to `mcpServers`"),
        (r#"{"mcpServers": {}}"#.to_owned(), "has no servers"),
        (
            server("{}"),
            "`mcpServers.files`: it has neither `command` nor `url`",
        ),
        (
            server(r#"{"command": "a", "url": "b"}"#),
            "both `command` and `url`",
        ),
        (
            server("{\n\"command\": \"a\",\n\"denny\": []}"),
            "unknown key `denny`; did you mean `deny`?",
        ),
        (
            server("{\n\"command\": 7}"),
            "`mcpServers.files.command`: invalid type: integer `7`, expected a string at line 2 column 12",
        ),
        (
            server(r#"{"command": "a", "args": ["b", 7]}"#),
            "`mcpServers.files.args[1]`: invalid type: integer `7`, expected a string",
        ),
        (
            server(r#"{"command": "a", "allow": []}"#),
            "`mcpServers.files`.allow: it is empty; leave it out to use all tools",
        ),
        (
            server(r#"{"command": "a", "roots": [""]}"#),
            "`mcpServers.files`.roots[0]: the value is empty",
        ),
        (
            server(r#"{"type": "sse", "url": "https://example.com"}"#),
            "`sse` is obsolete",
        ),
        (
            server(r#"{"type": "http", "command": "a"}"#),
            "needs a `url`",
        ),
        (
            server(r#"{"url": "https://example.com", "cwd": "x"}"#),
            "`cwd` is for programs",
        ),
        (
            server(r#"{"command": "a", "headers": {"x": "y"}}"#),
            "`headers` is for HTTP",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "a"}, "a": {"command": "b"}}}"#.to_owned(),
            "`a` is there twice at line 1",
        ),
    ] {
        setup.write_config(&text);
        let ran = setup.run(&["mcp", "trust", "--yes"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{text}");
        assert!(
            ran.err.contains("`.mcp.json`: ") && ran.err.contains(expected),
            "{text}: {}",
            ran.err
        );
    }
    let ran = setup.run(&["mcp", "list", "--mcp", "none.json"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .contains("cannot read the MCP configuration from `none.json`"),
        "{}",
        ran.err
    );
}

#[test]
fn values_that_are_wrong_are_refused_without_printing_them() {
    let setup = Setup::new();
    for (server, expected) in [
        (
            json!({ "command": "x", "args": ["a", "${NO_SUCH_VARIABLE}"] }),
            "`mcpServers.files`.args[1]: the environment variable `NO_SUCH_VARIABLE` is not set",
        ),
        (
            json!({ "command": "x", "env": { "1A": "hunter2" } }),
            ".env: `1A` is not the name",
        ),
        (
            json!({ "command": " " }),
            "`mcpServers.files`.command: the value is empty",
        ),
        (
            json!({ "command": "${NO_SUCH_VARIABLE:-}" }),
            "`mcpServers.files`.command: the value is empty",
        ),
        (
            json!({ "url": "" }),
            "`mcpServers.files`.url: the value is empty",
        ),
        (
            json!({ "command": "x", "cwd": "" }),
            "`mcpServers.files`.cwd: the value is empty",
        ),
        (
            json!({ "command": "x", "cwd": ".mcp.json" }),
            "`mcpServers.files`.cwd: there is no such directory",
        ),
        (
            json!({ "url": "https://user:hunter2@example.com" }),
            "must not contain credentials: send them in a header",
        ),
        (json!({ "url": "file:///hunter2" }), ": the URL"),
        (
            json!({ "url": "https://example.com", "headers": { "x y": "hunter2" } }),
            "`x y`",
        ),
    ] {
        setup.write_config(&json!({ "mcpServers": { "files": server } }).to_string());
        let ran = setup.run(&["mcp", "trust", "--yes"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{server}");
        assert!(ran.err.contains(expected), "{server}: {}", ran.err);
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
        assert!(!setup.home.file("mcp-consent.json").exists());
    }
    for (alias, expected) in [
        (
            "my server",
            "`mcpServers.my server`: the alias `my server` may contain only",
        ),
        (
            "",
            "`mcpServers.`: the alias of an MCP server is empty: give it a name",
        ),
    ] {
        setup.write_config(&json!({ "mcpServers": { alias: { "command": "x" } } }).to_string());
        let ran = setup.run(&["mcp", "trust", "--yes"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{alias}");
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
}

#[test]
fn variables_are_expanded_and_do_not_change_the_pins() {
    let setup = Setup::new();
    let folder = setup.folder.path().to_str().unwrap();
    setup.configure(&json!({ "env": { "TURNWRIGHT_TEST_MCP_FOLDER": "${WHERE:-/nowhere}/." }, "args": ["${WHAT}", "--nocapture"] }));
    let run = |what: &str, args: &[&str]| {
        let mut command = program();
        let command = command
            .args(args)
            .env("TURNWRIGHT_HOME", setup.home.path())
            .env("WHERE", folder)
            .env("WHAT", what)
            .current_dir(folder);
        Ran::of(command, "")
    };
    let ran = run(
        "mcp_server::runs_when_it_is_started_as",
        &["mcp", "pin", "--yes"],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    // Another command line, as on another machine, that starts the same server.
    let other = "mcp_server::runs_when_it_is";
    assert_eq!(run(other, &["mcp", "trust", "--yes"]).code, 0);
    let ran = run(other, &["mcp", "diff"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "No differences.\n"),
        "{ran:?}"
    );
    let lock = std::fs::read_to_string(setup.lock()).unwrap();
    assert!(!lock.contains(folder), "{lock}");
}

#[test]
fn keys_of_other_programs_are_reported_once() {
    let setup = Setup::new();
    setup.configure(&json!({ "autoApprove": ["*"], "timeout": 3, "colour": 1 }));
    let ran = setup.run(&["mcp", "pin", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert!(
        lines[0].starts_with("warning: .mcp.json: the key `autoApprove` (files) has no effect"),
        "{ran:?}"
    );
    assert!(lines[1].contains("Use `timeoutSeconds`"), "{ran:?}");
    assert!(lines[2].contains("`colour` (files)"), "{ran:?}");
    // A program that reads the output is not disturbed.
    assert_eq!(setup.run(&["mcp", "list", "--json"]).json().len(), 1);
    let doctor = setup.run(&["mcp", "doctor"]);
    assert!(doctor.out.contains("the key `autoApprove`"), "{doctor:?}");
}

#[test]
fn the_time_of_a_call_is_limited() {
    let setup = Setup::new();
    setup.define(&json!([{ "name": "hang", "inputSchema": { "type": "object" } }]));
    setup.configure(&json!({ "timeoutSeconds": 1 }));
    assert_eq!(setup.run(&["mcp", "pin", "--yes"]).code, 0);
    let ran = setup.run(&["mcp", "call", "files__hang", "--yes"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("did not answer within 1s"), "{ran:?}");
    setup.configure(&json!({ "timeoutSeconds": 0 }));
    let ran = setup.run(&["mcp", "list"]);
    assert!(ran.code == 2 && ran.err.contains("nonzero"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_configuration_that_is_not_a_regular_file_is_refused() {
    let setup = Setup::new();
    let made = std::process::Command::new("mkfifo")
        .arg(setup.folder.file("pipe"))
        .status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("pipe", setup.folder.file("link")).unwrap();
    std::fs::create_dir(setup.folder.file("folder")).unwrap();
    for file in ["pipe", "link", "folder", "/dev/zero"] {
        for args in [
            &["mcp", "list", "--mcp", file][..],
            &["mcp", "trust", "--yes", "--mcp", file],
            &["tools", "list", "--tools", file],
        ] {
            let ran = setup.run(args);
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
            assert!(
                ran.err.contains("it is not a regular file"),
                "{args:?}: {}",
                ran.err
            );
        }
    }
    // A link to a regular file is one.
    std::os::unix::fs::symlink(".mcp.json", setup.folder.file("config.json")).unwrap();
    let ran = setup.run(&["mcp", "trust", "--yes", "--mcp", "config.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // The lock file and the stored consents too.
    std::fs::rename(setup.folder.file("pipe"), setup.lock()).unwrap();
    let ran = setup.run(&["mcp", "list"]);
    assert!(
        ran.code == 2 && ran.err.contains("it is not a regular file"),
        "{ran:?}"
    );
    std::fs::rename(setup.lock(), setup.home.file("pipe")).unwrap();
    std::fs::rename(setup.home.file("pipe"), setup.home.file("mcp-consent.json")).unwrap();
    let ran = setup.run(&["mcp", "list"]);
    assert!(
        ran.code == 2 && ran.err.contains("it is not a regular file"),
        "{ran:?}"
    );
}

#[test]
fn roots_and_resources_are_for_servers_that_have_the_keys() {
    let setup = Setup::new();
    setup.define(&json!([definition("ask_roots", "Returns the roots.")]));
    let read = |setup: &Setup| {
        let args = r#"{"uri": "note:/1"}"#;
        setup.run(&["mcp", "call", "--yes", "files__mcp_read_resource", args])
    };
    let roots = |setup: &Setup| {
        let args = r#"{"text": ""}"#;
        setup
            .run(&["mcp", "call", "--yes", "files__ask_roots", args])
            .out
    };
    assert_eq!(setup.run(&["mcp", "pin", "--yes"]).code, 0);
    assert_ne!(read(&setup).code, 0);
    assert!(!roots(&setup).contains("file://"));

    setup.configure(&json!({ "resources": true, "roots": ["notes"] }));
    let trusted = setup.run(&["mcp", "trust", "--yes"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    let ran = read(&setup);
    assert!(ran.out.contains("a resource"), "{ran:?}");
    let folder = std::fs::canonicalize(setup.folder.path()).unwrap();
    let expected = format!("file://{}/notes", folder.display());
    assert!(roots(&setup).contains(&expected), "{}", roots(&setup));
}
