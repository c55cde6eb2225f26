//! `turnwright doctor`.

use serde_json::Value;
use turnwright_testkit::server::model;

use crate::folder::Folder;
use crate::model::Model;
use crate::program::{Ran, program};

const KEY: &str = "sk-secret-0815-4711";

/// Runs it with these arguments and environment variables.
fn doctor(home: &Folder, args: &[&str], env: &[(&str, &str)]) -> Ran {
    let mut command = program();
    command
        .arg("doctor")
        .args(args)
        .env("TURNWRIGHT_HOME", home.path())
        .envs(env.iter().copied());
    Ran::of(&mut command, "")
}

fn silent() -> Model {
    Model::plays(Vec::<model::Reply>::new())
}

/// The check of this name.
fn check(ran: &Ran, name: &str) -> Value {
    let all = ran.json();
    let found = all.iter().find(|check| check["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {all:?}"))
        .clone()
}

#[test]
fn a_configured_server_is_checked() {
    let (home, model) = (Folder::new(), silent());
    let url = model.url();
    let ran = doctor(&home, &["--base-url", &url, "--json"], &[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(check(&ran, "server")["status"], "ok");
    assert_eq!(check(&ran, "model")["status"], "ok");
    assert!(check(&ran, "rustc")["detail"].is_string());
    let ran = doctor(
        &home,
        &["--json"],
        &[("OPENAI_BASE_URL", &url), ("OPENAI_MODEL", "other")],
    );
    let model = check(&ran, "model");
    assert_eq!((ran.code, &model["status"]), (0, &"warn".into()));
    assert!(
        model["fix"].as_str().unwrap().contains("scripted"),
        "{model}"
    );
}

#[test]
fn a_server_that_cannot_be_reached_fails_with_what_to_do() {
    let home = Folder::new();
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let ran = doctor(&home, &["--base-url", &url], &[]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let expected = format!("fail  server      {url}: cannot connect");
    assert!(ran.out.contains(&expected), "{}", ran.out);
    assert!(ran.out.contains("→ start the server"), "{}", ran.out);
    assert!(ran.out.contains("1 problem"), "{}", ran.out);
    let ran = doctor(&home, &["--base-url", "localhost:8080", "--json"], &[]);
    assert_eq!(
        (ran.code, &check(&ran, "server")["status"]),
        (1, &"fail".into())
    );
}

#[test]
fn the_key_is_never_printed_and_not_sent_to_a_server_that_was_not_configured() {
    let (home, model) = (Folder::new(), silent());
    let env = [("OPENAI_API_KEY", KEY)];
    for args in [&["--base-url", &model.url()][..], &[], &["--json"]] {
        let ran = doctor(&home, args, &env);
        assert!(
            !ran.out.contains("0815") && !ran.err.contains("0815"),
            "{ran:?}"
        );
        assert!(ran.out.contains("OPENAI_API_KEY is set"), "{}", ran.out);
    }
    let ran = doctor(&home, &["--json"], &env);
    let server = check(&ran, "server");
    assert_eq!(server["status"], "warn", "{server}");
}

#[test]
fn the_provider_of_the_model_is_checked_with_its_own_variables() {
    let home = Folder::new();
    let model = ["--model", "anthropic:claude-x", "--json"];
    let openai = ("OPENAI_API_KEY", KEY);
    let ran = doctor(
        &home,
        &model,
        &[openai, ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")],
    );
    let server = check(&ran, "server");
    let detail = server["detail"].as_str().unwrap();
    assert!(
        detail.contains("api.anthropic.com") && detail.contains("not contacted"),
        "{server}"
    );
    let key = check(&ran, "API key");
    assert_eq!(key["detail"], "ANTHROPIC_API_KEY is not set");
    let ran = doctor(&home, &model, &[("ANTHROPIC_API_KEY", KEY)]);
    assert_eq!(check(&ran, "API key")["detail"], "ANTHROPIC_API_KEY is set");
    assert!(
        !ran.out.contains("OPENAI") && !ran.out.contains("0815"),
        "{}",
        ran.out
    );

    let ran = doctor(&home, &["--model", "anthropc:x", "--json"], &[]);
    assert_eq!(ran.code, 1);
    let detail = check(&ran, "model")["detail"].clone();
    assert!(
        detail
            .as_str()
            .unwrap()
            .contains("did you mean `anthropic:x`?"),
        "{detail}"
    );
}

#[test]
fn the_store_is_only_looked_at() {
    let home = Folder::new();
    let ran = doctor(&home, &["--json"], &[]);
    let store = check(&ran, "store");
    assert_eq!(store["status"], "ok");
    assert!(
        store["detail"]
            .as_str()
            .unwrap()
            .contains("does not exist yet"),
        "{store}"
    );
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);

    let file = home.file("demo.db");
    let file = file.to_str().unwrap();
    assert_eq!(
        crate::program::run(&["demo", "--yes", "--store", file]).code,
        0
    );
    let store = check(&doctor(&home, &["--json", "--store", file], &[]), "store");
    assert!(
        store["detail"]
            .as_str()
            .unwrap()
            .ends_with("1 conversation"),
        "{store}"
    );

    let other = home.write(
        "notes.db",
        "This is not a database. It has a few lines of text.\n",
    );
    let ran = doctor(&home, &["--json", "--store", &other], &[]);
    let store = check(&ran, "store");
    assert_eq!((ran.code, &store["status"]), (1, &"fail".into()));
    assert!(
        store["detail"].as_str().unwrap().contains("not a database"),
        "{store}"
    );
}

#[cfg(unix)]
#[test]
fn the_terminal_is_described() {
    let home = Folder::new();
    let mut terminal = crate::pty::Launch::new(&["doctor"])
        .window(40, 90)
        .env("TURNWRIGHT_HOME", home.path())
        .start();
    assert_eq!(terminal.end(), 0);
    let shown = terminal.shown();
    assert!(
        shown.contains("ok    terminal    90 columns, colour"),
        "{shown}"
    );
    let mut dumb = crate::pty::Launch::new(&["doctor"])
        .env("TURNWRIGHT_HOME", home.path())
        .env("TERM", "dumb")
        .start();
    assert_eq!(dumb.end(), 0);
    assert!(dumb.shown().contains("TERM=dumb"), "{}", dumb.shown());
}
