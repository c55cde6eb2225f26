//! Conversations are stored between runs.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use turnwright::record::Memory;
use turnwright::store::{ConversationId, StoreExt as _};
use turnwright_testkit::server::model;

use super::{PROMPT, chat as start, launch, run_piped, slow_tool};
use crate::folder::Folder;
use crate::model::{Model, Plays, says_and_hangs};
use crate::pty::CTRL_D;
use crate::stored::{self, conversations, records};

fn file_of(home: &Folder) -> PathBuf {
    home.file("conversations.db")
}

/// The text of the messages of a request, without what ends the list.
fn prompt(model: &Model, request: usize) -> String {
    let body = String::from_utf8(model.requests()[request].body.to_vec()).unwrap();
    let (_, messages) = body.split_once("\"messages\":[").unwrap();
    let length = Value::Array(model.messages(request)).to_string().len() - 2;
    messages[..length].to_owned()
}

#[test]
fn the_prompt_of_the_next_run_begins_with_that_of_the_last() {
    let call = model::calls([("call_1", "list_files", "{}")]);
    let model = Model::plays([
        call,
        model::text("It is 42.", 2),
        model::text("I said 42.", 2),
    ]);
    let home = Folder::new();
    assert_eq!(run_piped(&model, &home, &[], "What is 6 * 7?\n").code, 0);
    let mut terminal = start(&model, &home, &[]);
    assert!(
        terminal
            .words()
            .contains("conversation default (2 messages)"),
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
fn conversations_are_separate() {
    let model = Model::plays(["One.", "Two.", "Three."].map(|text| model::text(text, 1)));
    let home = Folder::new();
    run_piped(&model, &home, &["--conversation", "a"], "for a\n");
    run_piped(&model, &home, &["--conversation", "b"], "for b\n");
    run_piped(&model, &home, &["--forget"], "not stored\n");
    for request in [1, 2] {
        assert!(!prompt(&model, request).contains("for a"));
    }
    assert_eq!(conversations(&file_of(&home)), ["a", "b"]);
}

#[test]
fn a_large_result_can_be_read_in_the_next_run() {
    let home = Folder::new();
    let tools = home.file("tools.json");
    let message = json!([{
        "name": "numbers", "description": "Many numbers.",
        "parameters": { "type": "object", "properties": {} },
        "command": ["seq", "1", "100000"], "effects": "read_only",
    }]);
    fs::write(&tools, message.to_string()).unwrap();
    let args = ["--tools", tools.to_str().unwrap()];
    let model = Model::plays([
        model::calls([("call_1", "numbers", "{}")]),
        model::text("Many.", 1),
    ]);
    assert_eq!(run_piped(&model, &home, &args, "count\n").code, 0);
    assert!(!prompt(&model, 1).contains("77777"));

    let all = records(&file_of(&home), "default");
    let call = all
        .iter()
        .find(|item| item["tool"] == "numbers" && item["kind"] == "tool_call");
    let ask = json!({ "callId": call.unwrap()["id"], "pattern": "^77777$" }).to_string();
    // Another server, with `--switch-server`.
    let args = [&args[..], &["--switch-server"]].concat();
    let model = Model::plays([
        model::calls([("call_2", "artifact_grep", ask.as_str())]),
        model::text("There it is.", 1),
    ]);
    assert_eq!(run_piped(&model, &home, &args, "find it\n").code, 0);
    let found = model.messages(1).pop().unwrap().to_string();
    assert!(found.contains("77776:77777"), "{found}");
}

#[cfg(unix)]
#[test]
fn stored_files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let model = Model::plays([model::text("Hi.", 1)]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &[]);
    terminal
        .line("hello")
        .wait_for("Hi.")
        .wait_for_prompt(PROMPT)
        .keys(CTRL_D)
        .end();
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in ["conversations.db.results", "conversations.db.chats"] {
        assert_eq!(mode(&home.file(folder)), 0o700, "{folder}");
    }
    for file in [
        "conversations.db",
        "conversations.db.secret",
        "conversations.db.chats/default.history",
        "conversations.db.chats/default.lock",
    ] {
        assert_eq!(mode(&home.file(file)), 0o600, "{file}");
    }
    // Nothing else is left there.
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 4);
}

#[test]
fn a_conversation_is_open_in_one_process_at_a_time() {
    let model = Model::plays(Vec::<model::Reply>::new());
    let home = Folder::new();
    let _first = start(&model, &home, &[]);
    let ran = run_piped(&model, &home, &[], "hello\n");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("in use by another process"), "{}", ran.err);
    assert!(ran.err.contains("--conversation NAME"), "{}", ran.err);
}

#[test]
fn messages_of_an_earlier_part_are_stored_and_not_sent() {
    let model = Model::plays(["One.", "Two.", "Three."].map(|text| model::text(text, 1)));
    let home = Folder::new();
    run_piped(&model, &home, &[], "first\n");
    run_piped(&model, &home, &["--new"], "second\n");
    assert!(!prompt(&model, 1).contains("first"));
    let mut terminal = launch(&model, &home, &[]).window(24, 200).start();
    terminal
        .wait_for_prompt(PROMPT)
        .line("/new")
        .wait_for("Started a new part.")
        .wait_for_prompt(PROMPT);
    terminal
        .line("third")
        .wait_for("Three.")
        .wait_for_prompt(PROMPT);
    assert!(!prompt(&model, 2).contains("second"));
    assert!(
        terminal.shown().contains("stored as default~2"),
        "{}",
        terminal.shown()
    );
    terminal.keys(CTRL_D).end();
    let file = file_of(&home);
    assert_eq!(conversations(&file), ["default", "default~2", "default~3"]);
    for (name, messages) in [
        ("default", "first"),
        ("default~2", "second"),
        ("default~3", "third"),
    ] {
        let messages_there = stored::messages_of(&file, name);
        assert_eq!(messages_there[0], messages, "{messages_there:?}");
    }
    // One that is named goes on where it was.
    let model = Model::plays([model::text("Four.", 1)]);
    let args = ["--conversation", "default~1", "--switch-server"];
    assert_eq!(run_piped(&model, &home, &args, "fourth\n").code, 0);
    assert!(prompt(&model, 0).contains("first"));
    let ran = run_piped(&model, &home, &["--conversation", "default~9"], "x\n");
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("no conversation `default~9`"),
        "{}",
        ran.err
    );
}

#[test]
fn a_new_part_of_an_empty_conversation_changes_nothing() {
    let model = Model::plays([model::text("One.", 1)]);
    let home = Folder::new();
    run_piped(&model, &home, &["--new"], "");
    run_piped(&model, &home, &["--new"], "first\n");
    assert_eq!(conversations(&file_of(&home)), ["default"]);
}

#[test]
fn a_conversation_name_with_a_path_is_refused() {
    let model = Model::plays(Vec::<model::Reply>::new());
    let home = Folder::new();
    for name in ["..", "a/b", "../../etc", ""] {
        let ran = run_piped(&model, &home, &["--conversation", name], "hello\n");
        assert_eq!(ran.code, 2, "{name}");
        assert!(ran.err.contains("invalid conversation name"), "{}", ran.err);
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_conversation_continues_after_its_process_was_killed() {
    let call = model::calls([("call_1", "linger", "{}")]);
    let model = Model::plays([
        Plays::from(call),
        model::text("Let me see.", 1).into(),
        says_and_hangs("Half an ").into(),
        model::text("Here I am.", 1).into(),
    ]);
    let home = Folder::new();
    let (tools, begun) = slow_tool(&home);
    let args = ["--yes", "--tools", &tools];

    // While a tool runs that changes something:
    let mut terminal = start(&model, &home, &args);
    terminal.line("go").wait_for("running linger");
    terminal.wait_until("the tool", |_| begun.exists());
    terminal.kill();
    let mut terminal = start(&model, &home, &args);
    terminal
        .line("and now?")
        .wait_for("Let me see.")
        .wait_for_prompt(PROMPT);
    let message = prompt(&model, 1);
    assert!(
        message.contains("It may or may not have taken effect"),
        "{message}"
    );

    // While the model speaks:
    terminal.line("speak").wait_for("Half an").kill();
    let mut terminal = start(&model, &home, &args);
    terminal
        .line("are you there?")
        .wait_for("Here I am.")
        .wait_for_prompt(PROMPT);
    assert!(prompt(&model, 3).starts_with(&message));
}

#[test]
fn a_conversation_is_not_sent_to_another_server() {
    let home = Folder::new();
    let [one, other] = ["One.", "Other."].map(|text| Model::plays([model::text(text, 1)]));
    assert_eq!(run_piped(&one, &home, &[], "a secret\n").code, 0);
    let ran = run_piped(&other, &home, &[], "hello\n");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    for named in [
        one.url(),
        other.url(),
        "--new".into(),
        "--conversation".into(),
        "--switch-server".into(),
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
fn a_recorded_session_can_be_decoded() {
    let home = Folder::new();
    let model = Model::plays([
        model::calls([("call_1", "list_files", "{}")]),
        model::text("42.", 2),
    ]);
    let record = home.file("session.json");
    let record = record.to_str().unwrap();
    let ran = run_piped(&model, &home, &["--record", record], "What is 6 * 7?\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "42.\n"), "{ran:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(record).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let decoded = crate::program::run(&["wire", "decode", record]).json();
    assert_eq!(decoded[0]["tool_calls"][0]["name"], "list_files");
    assert_eq!(decoded[1]["text"], "42.");
}

#[test]
fn sessions_of_all_protocols_can_be_recorded() {
    let home = Folder::new();
    for protocol in ["openai", "responses", "anthropic", "gemini", "ollama"] {
        let model = Model::plays([
            model::calls([("call_1", "list_files", "{}")]),
            model::text("42.", 2),
        ]);
        let record = home.file(&format!("{protocol}.json"));
        let record = record.to_str().unwrap();
        let name = format!("{protocol}:scripted");
        let mut command = crate::program::program();
        command
            .args(["chat", "--base-url", &model.url(), "--model", &name])
            .args(["--record", record])
            .env("TURNWRIGHT_HOME", home.path());
        let ran = crate::program::Ran::of(&mut command, "What is 6 * 7?\n");
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "42.\n"),
            "{protocol}: {ran:?}"
        );
        let decoded = crate::program::run(&["wire", "decode", record]).json();
        assert_eq!(decoded[0]["tool_calls"][0]["name"], "list_files");
        assert_eq!(decoded[1]["text"], "42.");
    }
}

#[test]
fn a_chat_sends_the_memories_of_its_conversation_and_not_its_info() {
    let home = Folder::new();
    let model = Model::plays(["One.", "Two."].map(|text| model::text(text, 1)));
    assert_eq!(run_piped(&model, &home, &[], "first\n").code, 0);
    stored::look(&file_of(&home), async |store| {
        let id = ConversationId::new("default");
        let memory = Memory::new("The user likes tea.").build().unwrap();
        store.put(&id, memory).await.unwrap();
        let titled = store.update_conversation_info(&id, |info| info.title("About tea pots"));
        titled.await.unwrap();
    });
    assert_eq!(run_piped(&model, &home, &[], "second\n").code, 0);
    let sent = prompt(&model, 1);
    assert!(sent.contains("The user likes tea."), "{sent}");
    assert!(
        !sent.contains("tea pots") && !sent.contains("turnwright-chat"),
        "{sent}"
    );
}
