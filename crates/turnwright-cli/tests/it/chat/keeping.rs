//! A conversation between runs.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use turnwright_testkit::server::chat;

use super::{PROMPT, chat as start, launch, run_piped, slow_tool};
use crate::folder::Folder;
use crate::model::{Model, Plays, says_and_hangs};
use crate::pty::CTRL_D;

fn folder_of(home: &Folder, name: &str) -> PathBuf {
    home.file("conversations").join(name)
}

/// The text of the messages of a request, without what ends the list.
fn prompt(model: &Model, request: usize) -> String {
    let body = String::from_utf8(model.requests()[request].body.to_vec()).unwrap();
    let (_, messages) = body.split_once("\"messages\":[").unwrap();
    let length = Value::Array(model.messages(request)).to_string().len() - 2;
    messages[..length].to_owned()
}

#[test]
fn what_was_said_is_there_in_the_next_run_byte_for_byte() {
    let call = chat::calls([("call_1", "calculate", r#"{"expression": "6 * 7"}"#)]);
    let model = Model::plays([
        call,
        chat::text("It is 42.", 2),
        chat::text("I said 42.", 2),
    ]);
    let home = Folder::new();
    assert_eq!(run_piped(&model, &home, &[], "What is 6 * 7?\n").code, 0);
    let mut terminal = start(&model, &home, &[]);
    assert!(
        terminal.words().contains("goes on after 2 messages"),
        "{}",
        terminal.shown()
    );
    terminal
        .line("What did you say?")
        .wait_for("I said 42.")
        .wait_for_prompt(PROMPT);
    let (first, second) = (prompt(&model, 1), prompt(&model, 2));
    assert!(second.starts_with(&first), "{first}\n\n{second}");
    assert!(second.contains("It is 42."));
}

#[test]
fn conversations_have_nothing_to_do_with_each_other() {
    let model = Model::plays(["One.", "Two.", "Three."].map(|text| chat::text(text, 1)));
    let home = Folder::new();
    run_piped(&model, &home, &["--conversation", "a"], "for a\n");
    run_piped(&model, &home, &["--conversation", "b"], "for b\n");
    run_piped(&model, &home, &["--forget"], "for nobody\n");
    for request in [1, 2] {
        assert!(!prompt(&model, request).contains("for a"));
    }
    assert!(folder_of(&home, "a").exists() && folder_of(&home, "b").exists());
    assert!(!folder_of(&home, "default").exists());
}

#[test]
fn a_large_result_can_be_read_in_the_next_run() {
    let home = Folder::new();
    let tools = home.file("tools.json");
    let told = serde_json::json!([{
        "name": "numbers", "description": "Many numbers.",
        "parameters": { "type": "object", "properties": {} },
        "command": ["seq", "1", "100000"], "effects": "read_only",
    }]);
    fs::write(&tools, told.to_string()).unwrap();
    let args = ["--tools", tools.to_str().unwrap()];
    let model = Model::plays([
        chat::calls([("call_1", "numbers", "{}")]),
        chat::text("Many.", 1),
    ]);
    assert_eq!(run_piped(&model, &home, &args, "count\n").code, 0);
    assert!(!prompt(&model, 1).contains("77777"));

    let records = fs::read_to_string(folder_of(&home, "default").join("records.jsonl")).unwrap();
    let mut records = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let call = records.find(|record| record["tool"] == "numbers").unwrap();
    let ask = serde_json::json!({ "callId": call["id"], "pattern": "^77777$" }).to_string();
    // Another server, which may know all of it: whoever deletes this has said so.
    fs::remove_file(folder_of(&home, "default").join("server")).unwrap();
    let model = Model::plays([
        chat::calls([("call_2", "artifact_grep", ask.as_str())]),
        chat::text("There it is.", 1),
    ]);
    assert_eq!(run_piped(&model, &home, &args, "find it\n").code, 0);
    let found = model.messages(1).pop().unwrap().to_string();
    assert!(found.contains("77776:77777"), "{found}");
}

#[cfg(unix)]
#[test]
fn what_is_kept_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let model = Model::plays([chat::text("Hi.", 1)]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &[]);
    terminal
        .line("hello")
        .wait_for("Hi.")
        .wait_for_prompt(PROMPT)
        .keys(CTRL_D)
        .end();
    let folder = folder_of(&home, "default");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("results")), 0o700);
    for name in ["records.jsonl", "secret", "history", "lock"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
}

#[test]
fn a_conversation_is_one_programs_at_a_time() {
    let model = Model::plays(Vec::<chat::Reply>::new());
    let home = Folder::new();
    let _first = start(&model, &home, &[]);
    let ran = run_piped(&model, &home, &[], "hello\n");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("in use by another program"), "{}", ran.err);
    assert!(ran.err.contains("--conversation NAME"), "{}", ran.err);
}

#[test]
fn to_begin_anew_sets_aside_what_was_said() {
    let model = Model::plays(["One.", "Two.", "Three."].map(|text| chat::text(text, 1)));
    let home = Folder::new();
    run_piped(&model, &home, &[], "first\n");
    run_piped(&model, &home, &["--new"], "second\n");
    assert!(!prompt(&model, 1).contains("first"));
    let mut terminal = launch(&model, &home, &[]).window(24, 200).start();
    terminal
        .wait_for_prompt(PROMPT)
        .line("/new")
        .wait_for("Begun anew.")
        .wait_for_prompt(PROMPT);
    terminal
        .line("third")
        .wait_for("Three.")
        .wait_for_prompt(PROMPT);
    assert!(!prompt(&model, 2).contains("second"));
    for (number, said) in [(1, "first"), (2, "second")] {
        let aside = folder_of(&home, "default").join(format!("{number}.bak"));
        assert!(
            fs::read_to_string(aside.join("records.jsonl"))
                .unwrap()
                .contains(said)
        );
        assert!(aside.join("secret").exists() && aside.join("results").exists());
    }
}

#[test]
fn a_broken_file_is_named_and_left_alone() {
    let home = Folder::new();
    let model = Model::plays(["One.", "Two."].map(|text| chat::text(text, 1)));
    run_piped(&model, &home, &[], "first\n");
    let file = folder_of(&home, "default").join("records.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let later = whole.replace(
        "\"turnwrightConversation\":1",
        "\"turnwrightConversation\":9",
    );
    let odd = whole.replace("\"v\":1", "\"v\":7");
    for broken in [&later, &odd, "nonsense\n"] {
        fs::write(&file, broken).unwrap();
        let ran = run_piped(&model, &home, &[], "second\n");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{broken}");
        assert!(
            ran.err.contains(file.to_str().unwrap()) && ran.err.contains("--new"),
            "{}",
            ran.err
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    }
    assert_eq!(run_piped(&model, &home, &["--new"], "second\n").code, 0);
    assert!(
        folder_of(&home, "default")
            .join("1.bak/records.jsonl")
            .exists()
    );
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let model = Model::plays(Vec::<chat::Reply>::new());
    let home = Folder::new();
    for name in ["..", "a/b", "../../etc", ""] {
        let ran = run_piped(&model, &home, &["--conversation", name], "hello\n");
        assert_eq!(ran.code, 2, "{name}");
        assert!(ran.err.contains("conversation's name"), "{}", ran.err);
    }
    assert!(!home.file("conversations").exists());
}

#[test]
fn a_program_that_was_killed_in_mid_turn_leaves_a_conversation_that_goes_on() {
    let call = chat::calls([("call_1", "linger", "{}")]);
    let model = Model::plays([
        Plays::from(call),
        chat::text("Let me see.", 1).into(),
        says_and_hangs("Half an ").into(),
        chat::text("Here I am.", 1).into(),
    ]);
    let home = Folder::new();
    let (tools, begun) = slow_tool(&home);
    let args = ["--yes", "--tools", &tools];

    // While a tool runs that changes something:
    let mut terminal = start(&model, &home, &args);
    terminal.line("go").wait_for("linger runs");
    terminal.wait_until("the tool", |_| begun.exists());
    terminal.kill();
    let mut terminal = start(&model, &home, &args);
    terminal
        .line("and now?")
        .wait_for("Let me see.")
        .wait_for_prompt(PROMPT);
    let told = prompt(&model, 1);
    assert!(told.contains("It may have taken effect or not"), "{told}");

    // While the model speaks:
    terminal.line("speak").wait_for("Half an").kill();
    let mut terminal = start(&model, &home, &args);
    terminal
        .line("are you there?")
        .wait_for("Here I am.")
        .wait_for_prompt(PROMPT);
    assert!(prompt(&model, 3).starts_with(&told));
}

#[test]
fn a_last_line_that_was_never_ended_is_left_out() {
    let home = Folder::new();
    let model = Model::plays(["One.", "Two."].map(|text| chat::text(text, 1)));
    run_piped(&model, &home, &[], "first\n");
    let file = folder_of(&home, "default").join("records.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, whole + "{\"v\":1,\"kind\":\"mess").unwrap();
    let ran = run_piped(&model, &home, &[], "second\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Two.\n"), "{ran:?}");
    let messages = model.messages(1);
    assert_eq!(messages[messages.len() - 3]["content"], "first");
}

#[test]
fn what_was_said_to_one_server_is_not_sent_to_another() {
    let home = Folder::new();
    let [one, other] = ["One.", "Other."].map(|text| Model::plays([chat::text(text, 1)]));
    assert_eq!(run_piped(&one, &home, &[], "a secret\n").code, 0);
    let ran = run_piped(&other, &home, &[], "hello\n");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    for named in [
        one.url(),
        other.url(),
        "--new".into(),
        "--conversation".into(),
    ] {
        assert!(ran.err.contains(&named), "{}", ran.err);
    }
    assert!(other.requests().is_empty());
    // Without a name each server has a conversation of its own.
    let mut command = crate::program::program();
    command
        .args(["chat", "--base-url", &other.url(), "--model", "m"])
        .env("TURNWRIGHT_HOME", home.path());
    assert_eq!(
        crate::program::Ran::of(&mut command, "hello\n").out,
        "Other.\n"
    );
    assert!(!String::from_utf8_lossy(&other.requests()[0].body).contains("a secret"));
}

#[test]
fn a_session_that_was_recorded_can_be_decoded_and_played_again() {
    let home = Folder::new();
    let model = Model::plays([
        chat::calls([("call_1", "calculate", r#"{"expression": "6 * 7"}"#)]),
        chat::text("42.", 2),
    ]);
    let record = home.file("session.json");
    let record = record.to_str().unwrap();
    let ran = run_piped(&model, &home, &["--record", record], "What is 6 * 7?\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "42.\n"), "{ran:?}");
    let decoded = crate::program::run(&["wire", "decode", record]).json();
    assert_eq!(decoded[0]["tool_calls"][0]["name"], "calculate");
    assert_eq!(decoded[1]["text"], "42.");
    let played = crate::program::run(&["wire", "replay", record]);
    assert_eq!(played.code, 0, "{played:?}");
    assert!(
        played.out.contains("2 of 2 recorded responses were played"),
        "{}",
        played.out
    );
}
