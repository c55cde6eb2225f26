//! Values that the configuration passes to a server are not shown, even if the server prints them.

use serde_json::json;

use crate::mcp_server::Setup;
use crate::program::{Ran, program};

#[test]
fn standard_error_is_shown_without_secrets_and_with_invisible_characters() {
    let setup = Setup::new();
    let folder = setup.folder.path();
    let test = "mcp_server::runs_when_it_is_started_as_a_server";
    setup.configure(&json!({
        "args": ["--exact", test, "--nocapture", "--skip=${IN_ARGUMENT}"],
        "env": { "TURNWRIGHT_TEST_MCP_FOLDER": folder, "SET": "literal-1", "MORE": "x ${IN_ENV}" },
        "inheritEnv": ["INHERITED"],
        "timeoutSeconds": 1,
    }));
    let run = |args: &[&str]| {
        let mut command = program();
        let command = command
            .args(args)
            .env("TURNWRIGHT_HOME", setup.home.path())
            .env("IN_ARGUMENT", "argument-2")
            .env("IN_ENV", "variable-3")
            .env("INHERITED", "inherited-4")
            .current_dir(folder);
        Ran::of(command, "")
    };
    assert_eq!(run(&["mcp", "pin", "--yes"]).code, 0);
    let call = [
        "mcp",
        "call",
        "files__read_note",
        r#"{"text": "a"}"#,
        "--yes",
    ];
    let secrets = "literal-1 argument-2 variable-3 inherited-4";
    setup
        .folder
        .write("silent", &format!("keys:\u{202e}\u{7}\n{secrets}"));
    let doctor = run(&["mcp", "doctor"]);
    assert!(
        doctor.out.contains("stderr: keys:\\u{202e}\\u{7}"),
        "{doctor:?}"
    );
    let hidden = "stderr: [redacted]";
    assert!(doctor.out.contains(hidden), "{doctor:?}");
    for args in [
        &["mcp", "doctor"][..],
        &["mcp", "doctor", "--json"],
        &["mcp", "list"],
        &["mcp", "list", "--json"],
        &call,
    ] {
        let ran = run(args);
        let shown = format!("{}{}", ran.out, ran.err);
        assert!(shown.contains("[redacted]"), "{args:?}: {shown}");
        for secret in secrets.split(' ') {
            assert!(!shown.contains(secret), "{args:?}: {shown}");
        }
    }
}
