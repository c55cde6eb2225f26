//! Consent to the values of variables.

use serde_json::json;

use crate::mcp_server::Setup;
use crate::program::{Ran, program};

/// Runs the program with this value of `WHAT`.
fn run(setup: &Setup, what: &str, args: &[&str]) -> Ran {
    let mut command = program();
    let command = command
        .args(args)
        .env("TURNWRIGHT_HOME", setup.home.path())
        .env("WHAT", what)
        .current_dir(setup.folder.path());
    Ran::of(command, "")
}

#[test]
fn another_value_of_a_variable_in_the_command_line_needs_consent_again() {
    let setup = Setup::new();
    let test = "mcp_server::runs_when_it_is_started_as_a_server";
    setup.configure(&json!({ "args": ["--exact", test, "--nocapture", "${WHAT}"] }));
    assert_eq!(run(&setup, "-q", &["mcp", "pin", "--yes"]).code, 0);
    assert_eq!(run(&setup, "-q", &["mcp", "list"]).code, 0);

    let ran = run(&setup, "--list", &["mcp", "list"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    assert!(
        ran.err
            .contains("variables have changed `mcpServers.files.args[3]`"),
        "{ran:?}"
    );
    let doctor = run(&setup, "--list", &["mcp", "doctor"]);
    assert!(
        doctor
            .out
            .contains("variables have changed `mcpServers.files.args[3]`"),
        "{doctor:?}"
    );
    assert_eq!(
        run(&setup, "-q", &["mcp", "list"]).code,
        0,
        "it is as it was"
    );
    // Only digests are stored.
    let stored = std::fs::read_to_string(setup.home.file("mcp-consent.json")).unwrap();
    assert!(
        stored.contains("args[3]") && !stored.contains("-q"),
        "{stored}"
    );
}

#[test]
fn values_of_the_environment_and_of_headers_may_change() {
    let setup = Setup::new();
    let folder = setup.folder.path();
    setup.configure(
        &json!({ "env": { "TURNWRIGHT_TEST_MCP_FOLDER": folder, "SECRET": "${WHAT}" } }),
    );
    assert_eq!(run(&setup, "one", &["mcp", "pin", "--yes"]).code, 0);
    assert_eq!(run(&setup, "two", &["mcp", "list"]).code, 0);
}

#[test]
fn a_damaged_file_of_answers_is_reported_and_kept() {
    let setup = Setup::pinned();
    let file = setup.home.file("mcp-consent.json");
    std::fs::write(&file, "{ damaged").unwrap();
    for args in [
        &["mcp", "list"][..],
        &["mcp", "trust", "--yes"],
        &["mcp", "pin", "--yes"],
    ] {
        let ran = setup.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        let named = format!("`{}`, is damaged: ", file.display());
        assert!(
            ran.err.contains(&named) && ran.err.contains("Restore it, or delete it"),
            "{ran:?}"
        );
    }
    let doctor = setup.run(&["mcp", "doctor"]);
    assert!(
        doctor.code == 1 && doctor.out.contains("is damaged: "),
        "{doctor:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ damaged");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(setup.run(&["mcp", "trust", "--yes"]).code, 0);
}

#[cfg(unix)]
#[test]
fn the_question_shows_variables_and_why_it_is_asked_again() {
    let setup = Setup::new();
    let test = "mcp_server::runs_when_it_is_started_as_a_server";
    let args = json!([
        "--exact",
        test,
        "--nocapture",
        "${WHAT}",
        "${API_TOKEN:-hunter2}"
    ]);
    setup.configure(&json!({ "args": args }));
    assert_eq!(run(&setup, "-q", &["mcp", "trust", "--yes"]).code, 0);
    let mut terminal = crate::pty::Launch::new(&["mcp", "trust"])
        .env("TURNWRIGHT_HOME", setup.home.path())
        .env("WHAT", "--list")
        .current_dir(setup.folder.path())
        .window(40, 120)
        .start();
    terminal.wait_for_prompt("  Use these servers? yes or no:");
    let shown = terminal.words();
    assert!(
        shown.contains("has other values than when you agreed to it"),
        "{shown}"
    );
    assert!(shown.contains("with API_TOKEN=… WHAT=--list"), "{shown}");
    terminal.line("y");
    assert_eq!(terminal.end(), 0);
    assert_eq!(run(&setup, "--list", &["mcp", "trust"]).code, 0);
}

/// What a file does with variables of the user, and what makes a program run another one, must be seen.
#[test]
fn the_question_shows_headers_logins_and_whole_values() {
    let setup = Setup::new();
    let options = format!(
        "--max-old-space-size=4096{}--require ./evil.js",
        " ".repeat(80)
    );
    let web = json!({
        "url": "http://127.0.0.1:9/mcp",
        "headers": { "X-Client": "${HOME}", "X-Api-Key": "key-0123456789" },
        "oauth": false,
    });
    let login = json!({
        "url": "http://127.0.0.1:9/mcp",
        "oauth": { "clientId": "me", "clientSecret": "${HOME}", "issuer": "http://127.0.0.1:9", "endpointOrigins": ["http://127.0.0.1:8"] },
    });
    let mut config = setup.config("files", &json!({ "env": { "NODE_OPTIONS": options } }));
    config["mcpServers"]["web"] = web;
    config["mcpServers"]["login"] = login;
    setup.write_config(&config.to_string());
    let mut terminal = crate::pty::Launch::new(&["mcp", "trust"])
        .env("TURNWRIGHT_HOME", setup.home.path())
        .current_dir(setup.folder.path())
        .window(40, 200)
        .start();
    terminal.wait_for_prompt("  Use these servers? yes or no:");
    let shown = terminal.words();
    for expected in [
        "--require ./evil.js",
        "headers: X-Client='${HOME}' X-Api-Key='ke…' (12 characters are hidden)",
        "oauth: clientId=me clientSecret='${HOME}' issuer=http://127.0.0.1:9 endpointOrigins=http://127.0.0.1:8",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    terminal.line("n");
    terminal.end();
}
