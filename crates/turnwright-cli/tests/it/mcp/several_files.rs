//! `--mcp` with several files.

use serde_json::json;

#[cfg(unix)]
use crate::mcp_server::END;
use crate::mcp_server::{Setup, definition};

const FILES: [&str; 4] = ["--mcp", ".mcp.json", "--mcp", "more.json"];

/// A configuration and another one in the same directory, both used before.
fn two() -> Setup {
    let setup = Setup::new();
    let more = setup.config("more", &json!({}));
    setup.folder.write("more.json", &more.to_string());
    let ran = setup.run(&[&["mcp", "pin", "--yes"], &FILES[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    setup
}

#[test]
fn the_servers_of_all_files_are_used() {
    let setup = two();
    let listed = setup
        .run(&[&["mcp", "list", "--json"], &FILES[..]].concat())
        .json();
    let servers: Vec<&str> = listed
        .iter()
        .map(|item| item["server"].as_str().unwrap())
        .collect();
    assert_eq!(servers, ["files", "more"]);
    assert!(
        listed
            .iter()
            .all(|item| item["tools"].as_array().unwrap().len() == 2),
        "{listed:?}"
    );
    for tool in ["files__read_note", "more__read_note"] {
        let call = ["mcp", "call", tool, r#"{"text": "a"}"#, "--yes"];
        let ran = setup.run(&[&call, &FILES[..]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert_eq!(setup.calls().len(), 2);
    let doctor = setup.run(&[&["mcp", "doctor"], &FILES[..]].concat());
    assert!(
        doctor.code == 0 && doctor.out.contains("more.json, 1 server"),
        "{doctor:?}"
    );
}

#[test]
fn each_file_has_its_own_lock_file_and_consent() {
    let setup = two();
    assert!(setup.lock().exists() && setup.folder.file("more.lock.json").exists());
    let changed = setup.config("more", &json!({ "optional": true }));
    setup.folder.write("more.json", &changed.to_string());
    let ran = setup.run(&[&["mcp", "list"], &FILES[..]].concat());
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("`more.json` has changed since"), "{ran:?}");
    assert_eq!(
        setup.run(&["mcp", "list"]).code,
        0,
        "the other one has not changed"
    );
}

#[test]
fn the_file_of_a_server_is_named() {
    let setup = two();
    let run = |command: &str| setup.run(&[&["mcp", command], &FILES[..]].concat());
    let ran = run("list");
    assert!(
        ran.out.contains("files (.mcp.json)  connected")
            && ran.out.contains("more (more.json)  connected"),
        "{ran:?}"
    );
    let ran = run("diff");
    let same = ".mcp.json: no differences.\nmore.json: no differences.\n";
    assert_eq!((ran.code, ran.out.as_str()), (0, same), "{ran:?}");
    let ran = run("doctor");
    assert!(
        ran.out.contains("you have agreed to more.json")
            && ran.out.contains("more (more.json): notes"),
        "{ran:?}"
    );

    setup.define(&json!([definition("send_note", "Sends a note.")]));
    for ran in [
        run("diff"),
        setup.run(&[&["mcp", "pin", "--yes"], &FILES[..]].concat()),
    ] {
        for server in ["files (.mcp.json)", "more (more.json)"] {
            let added = format!("{server}: `send_note` was added");
            assert!(ran.out.contains(&added), "{ran:?}");
        }
    }
    let listed = setup.run(&[&["mcp", "list", "--json"], &FILES[..]].concat());
    assert_eq!(listed.json()[1]["file"], "more.json");
    // The only file needs no name.
    let ran = setup.run(&["mcp", "list"]);
    assert!(ran.out.starts_with("files  connected"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn the_servers_of_all_files_start_side_by_side() {
    let setup = Setup::new();
    let folder = setup.folder.path();
    let end = |alias: &str, end: &str| {
        let env = json!({ "env": { "TURNWRIGHT_TEST_MCP_FOLDER": folder, END: end } });
        setup.config(alias, &env).to_string()
    };
    setup.write_config(&end("files", "read"));
    setup.folder.write("more.json", &end("more", "write"));
    let run = |args: &[&str]| setup.run(&[args, &FILES[..]].concat());
    assert_eq!(run(&["mcp", "pin", "--yes"]).code, 0);
    let made = std::process::Command::new("mkfifo")
        .arg(setup.folder.file("meet"))
        .status();
    assert!(made.unwrap().success());
    // Each server waits for the other one before it answers.
    let listed = run(&["mcp", "list", "--json"]).json();
    let states = listed.iter().map(|item| item["state"].as_str().unwrap());
    assert_eq!(states.collect::<Vec<_>>(), ["connected", "connected"]);
    let doctor = run(&["mcp", "doctor"]);
    assert_eq!(doctor.code, 0, "{doctor:?}");
}

#[test]
fn files_that_contradict_each_other_are_refused() {
    let setup = Setup::new();
    let same = setup.config("files", &json!({}));
    setup.folder.write("more.json", &same.to_string());
    let ran = setup.run(&[&["mcp", "list"], &FILES[..]].concat());
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .contains("both `.mcp.json` and `more.json` have an MCP server called `files`"),
        "{ran:?}"
    );
    let ran = setup.run(&["mcp", "list", "--mcp", ".mcp.json", "--mcp", "./.mcp.json"]);
    assert!(
        ran.code == 2 && ran.err.contains("are the same MCP configuration"),
        "{ran:?}"
    );
    let other = setup.config("other", &json!({}));
    setup.folder.write("mcp.json", &other.to_string());
    let ran = setup.run(&["mcp", "list", "--mcp", ".mcp.json", "--mcp", "mcp.json"]);
    assert!(
        ran.code == 2 && ran.err.contains("mcp.lock.json"),
        "{ran:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_chat_and_its_resumed_turn_have_the_servers_of_all_files() {
    use turnwright_testkit::server::{Answer, model};

    use crate::model::{Model, Plays};
    use crate::program::Ran;

    let setup = two();
    let broken = Answer::json(401, json!({ "error": { "message": "no" } }));
    let call = |tool: &str| model::calls([(tool, tool, r#"{"text": "milk"}"#)]);
    let model = Model::plays([
        Plays::from(broken),
        call("files__write_note").into(),
        call("more__write_note").into(),
        model::text("Done.", 1).into(),
    ]);
    let mut command = crate::chat::piped(&model, &setup.home, &FILES);
    let ran = Ran::of(command.current_dir(setup.folder.path()), "note it\n");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("try: check OPENAI_API_KEY"), "{ran:?}");
    let turns = setup.run(&["turns", "list", "--json"]).json();
    let turn = turns[0]["turn"].as_str().unwrap();
    let ran = setup.run(&["turns", "resume", turn, "--yes"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{ran:?}");
    assert_eq!(setup.calls().len(), 2);
}
