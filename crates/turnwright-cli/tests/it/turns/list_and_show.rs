//! `list` and `show`.

use serde_json::Value;
use turnwright::store::{ConversationId, StoreExt as _};
use turnwright_testkit::server::model;

use super::{at_terminal, database, listed, newest, talked, turns};
use crate::chat::{CONSENT, PROMPT, launch, note, run_piped, write_tool};
use crate::folder::Folder;
use crate::model::Model;
use crate::program::run;
use crate::pty::has_colour;
use crate::stored;

#[test]
fn turns_are_listed_newest_first_with_their_message() {
    let home = Folder::new();
    talked(
        &home,
        &["--conversation", "shop"],
        &[("first question", "One.")],
    );
    talked(
        &home,
        &["--conversation", "garden"],
        &[("second question", "Two."), ("third", "Three.")],
    );
    let ran = turns(&home, &["list"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 6, "{}", ran.out);
    for (line, messages) in [
        (1, "  garden › third"),
        (3, "  garden › second question"),
        (5, "  shop › first question"),
    ] {
        assert_eq!(lines[line], messages);
        assert!(lines[line - 1].contains("  answered     "), "{}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'));
}

#[test]
fn the_first_word_of_a_listed_line_names_the_turn() {
    let home = Folder::new();
    talked(&home, &[], &[("one", "1."), ("two", "2."), ("three", "3.")]);
    let list = turns(&home, &["list"]).out;
    for (line, messages) in list.lines().step_by(2).zip(["three", "two", "one"]) {
        let id = line.split("  ").next().unwrap().trim();
        let ran = turns(&home, &["show", id]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.contains(&format!("> {messages}\n")), "{}", ran.out);
    }
}

#[test]
fn json_output_has_a_line_per_turn() {
    let home = Folder::new();
    let model = Model::plays([
        model::calls([("call_1", "list_files", "{}")]),
        model::text("42.", 1).usage(20, 4),
    ]);
    run_piped(&model, &home, &[], "What is 6 * 7?\n");
    let all = listed(&home, &[]);
    assert_eq!(all.len(), 1);
    let turn = &all[0];
    for (field, expected) in [
        ("conversation", Value::from("default")),
        ("state", "answered".into()),
        ("firstMessage", "What is 6 * 7?".into()),
        ("calls", 1.into()),
        ("unknownCalls", 0.into()),
        ("runs", 1.into()),
        ("error", Value::Null),
        ("heldForSeconds", Value::Null),
    ] {
        assert_eq!(turn[field], expected, "{field} in {turn}");
    }
    assert_eq!(turn["usage"]["inputTokens"], 20);
    assert!(turn["seconds"].is_f64() && turn["beganAt"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn a_list_can_be_narrowed() {
    let home = Folder::new();
    talked(
        &home,
        &["--conversation", "shop"],
        &[("a", "1."), ("b", "2.")],
    );
    talked(&home, &["--conversation", "shopping"], &[("c", "3.")]);
    let model = Model::plays(Vec::<model::Reply>::new());
    let args = ["--conversation", "shop", "--new"];
    assert_eq!(run_piped(&model, &home, &args, "d\n").code, 1);
    let messages = |args: &[&str]| -> Vec<String> {
        let all = listed(&home, args);
        all.iter()
            .map(|item| item["firstMessage"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(messages(&[]), ["d", "c", "b", "a"]);
    // With the new part.
    assert_eq!(messages(&["--conversation", "shop"]), ["d", "b", "a"]);
    assert_eq!(messages(&["--conversation", "shop~2"]), ["d"]);
    assert_eq!(messages(&["--conversation", "shop~1"]), ["b", "a"]);
    assert_eq!(messages(&["--state", "failed"]), ["d"]);
    assert_eq!(
        messages(&["--state", "failed", "--state", "answered", "--limit", "2"]),
        ["d", "c"]
    );
    assert!(messages(&["--conversation", "nobody"]).is_empty());
    let ran = turns(&home, &["list", "--limit", "1"]);
    assert!(
        ran.out.ends_with("… 3 more; use `--limit 4` to show all\n"),
        "{}",
        ran.out
    );
    let ran = turns(&home, &["list", "--state", "waiting"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "No matching turns.\n"));
    assert_eq!(turns(&home, &["list", "--state", "asleep"]).code, 2);
    assert_eq!(turns(&home, &["list", "--limit", "0"]).code, 2);
}

#[test]
fn a_turn_is_shown_completely() {
    let home = Folder::new();
    let (tools, _) = write_tool(&home);
    let model = Model::plays([
        model::calls([("call_1", "write_note", r#"{"text": "milk"}"#)])
            .with_reasoning("A note will do."),
        model::calls([("call_2", "write_note", r#"{"txt": "milk"}"#)]),
        model::text("It is noted.", 1).usage(1_200, 30),
    ]);
    let ran = run_piped(&model, &home, &["--tools", &tools, "--yes"], "note milk\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = newest(&home);
    let ran = turns(&home, &["show", &id]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let folder = std::env::current_dir().unwrap();
    for shown in [
        &format!("turn {id}  answered\n"),
        "conversation default · scripted at http://127.0.0.1:",
        &format!("reads {}", folder.display()),
        "> note milk\n",
        "│ A note will do.\n",
        "? write_note needs approval\n  {\"text\":\"milk\"}\n  reason: it may change something\n  approved: by --yes\n",
        "→ write_note {\"text\":\"milk\"}\n  ledger: done after ",
        "\n  ← it is written\n",
        "→ write_note {\"txt\":\"milk\"}\n  ← Invalid arguments for `write_note`",
        "\n│ It is noted.\n",
        "2 calls · 1,200 input tokens, 30 output tokens\n",
    ] {
        assert!(
            ran.out.contains(shown),
            "{shown:?} is missing in\n{}",
            ran.out
        );
    }
    // Model text has its margin.
    let mut terminal = at_terminal(&home, &["show", &id]);
    assert_eq!(terminal.end(), 0);
    assert!(
        terminal.shown().contains("│ It is noted."),
        "{}",
        terminal.shown()
    );
    assert!(has_colour(&terminal.written()));
}

#[test]
fn json_output_of_a_turn_is_complete() {
    let home = Folder::new();
    talked(&home, &[], &[("hello", "Hi.")]);
    let ran = turns(&home, &["show", &newest(&home), "--json"]);
    let message = ran.json();
    assert_eq!(message.len(), 1);
    let records = message[0]["records"].as_array().unwrap();
    let messages: Vec<&str> = records
        .iter()
        .filter_map(|item| item["text"].as_str())
        .collect();
    assert_eq!(messages, ["hello", "Hi."]);
    assert_eq!(message[0]["state"], "answered");
}

#[test]
fn a_failed_turn_is_shown_with_what_to_do() {
    let home = Folder::new();
    let model = Model::plays(Vec::<model::Reply>::new());
    assert_eq!(run_piped(&model, &home, &[], "hello\n").code, 1);
    let id = newest(&home);
    let ran = turns(&home, &["show", &id]);
    assert!(
        ran.out.contains("no answer: ") && ran.out.contains("E_"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains(&format!("To resume it:\n  turnwright turns resume {id}\n")),
        "{}",
        ran.out
    );
}

#[test]
fn unknown_and_ambiguous_turns_are_refused() {
    let home = Folder::new();
    let ran = turns(&home, &["list"]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (0, "No turns are stored yet.\n", "")
    );
    let ran = turns(&home, &["show", "0"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("nothing is stored yet"), "{}", ran.err);
    assert!(!database(&home).exists(), "looking makes nothing");

    talked(&home, &[], &[("one", "1."), ("two", "2.")]);
    // As they are listed.
    let list = turns(&home, &["list"]).out;
    let ids: Vec<&str> = list
        .lines()
        .step_by(2)
        .filter_map(|item| item.split("  ").next())
        .collect();
    let several = format!(
        "several turns begin with `0`. Use more of the id: {} in default, {} in default\n",
        ids[0], ids[1]
    );
    for (id, messages) in [
        ("nonsense", "no turn begins with `nonsense`."),
        ("0", &several),
        ("", "no turn begins with ``"),
    ] {
        let ran = turns(&home, &["show", id]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{id}");
        assert!(ran.err.contains(messages), "{}", ran.err);
    }
}

#[test]
fn a_stored_demo_can_be_shown() {
    let home = Folder::new();
    let file = home.file("demo.db");
    let file = file.to_str().unwrap();
    let ran = run(&["demo", "--store", file, "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let (_, hint) = ran.out.rsplit_once("turnwright turns show ").unwrap();
    let words: Vec<&str> = hint.split_whitespace().collect();
    assert_eq!(words[1..], ["--store", &format!("{file}`")]);
    let shown = turns(&home, &["show", words[0], "--store", file]);
    assert_eq!(shown.code, 0, "{shown:?}");
    for messages in [
        "> Checkout failed for many customers last night.",
        "← 22.6 MB, 420,000 lines: stored as an artifact of kind text",
        "? restart_service needs approval\n  {\"service\":\"checkout-api\"",
        "  reason: it changes something in production\n  approved: by --yes\n",
        "7 calls",
    ] {
        assert!(
            shown.out.contains(messages),
            "{messages:?} is missing in\n{}",
            shown.out
        );
    }
    // A second one has nothing to do with the first.
    assert_eq!(run(&["demo", "--store", file]).code, 0);
    let all = listed(&home, &["--store", file]);
    assert_eq!(all.len(), 2);
    assert_ne!(all[0]["conversation"], all[1]["conversation"]);
    assert_eq!(stored::conversations(std::path::Path::new(file)).len(), 2);
}

#[test]
fn an_emptied_database_lists_nothing() {
    let home = Folder::new();
    talked(&home, &[], &[("one", "1.")]);
    assert_eq!(
        turns(&home, &["delete", "--conversation", "default", "--yes"]).code,
        0
    );
    let ran = turns(&home, &["list"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "No turns are stored yet.\n")
    );
    let ran = turns(&home, &["list", "--state", "failed"]);
    assert_eq!(ran.out, "No matching turns.\n");
}

#[test]
fn the_user_who_approves_a_call_is_stored() {
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let model = Model::plays([note(), note(), model::text("Noted.", 1)]);
    let mut terminal = launch(&model, &home, &["--tools", &tools])
        .env("USER", "ada")
        .start();
    terminal.wait_for_prompt(PROMPT);
    terminal
        .line("note milk")
        .wait_for_prompt(CONSENT)
        .line("/quit")
        .wait_for("Ctrl-C cancels the turn.")
        .wait_for_prompt(CONSENT)
        .line("y")
        .wait_for("it is written")
        .wait_for_prompt(CONSENT)
        .line("e")
        .wait_for("  arguments: ")
        .keys("\x15")
        .line(r#"{"text":"tea"}"#)
        .wait_for("Noted.");
    drop(terminal);
    assert_eq!(
        std::fs::read_to_string(written).unwrap(),
        r#"{"text":"tea"}"#
    );
    let shown = turns(&home, &["show", &newest(&home)]).out;
    for messages in [
        "  approved by ada: at the terminal\n",
        "  approved with other arguments by ada: at the terminal {\"text\":\"tea\"}\n",
    ] {
        assert!(
            shown.contains(messages),
            "{messages:?} is missing in\n{shown}"
        );
    }
}

/// The id of the turn of a conversation, as listed.
fn listed_id(list: &str, conversation: &str) -> String {
    let lines: Vec<&str> = list.lines().collect();
    let at = lines
        .iter()
        .position(|item| item.contains(&format!("  {conversation} ›")));
    let id = lines[at.unwrap() - 1].split("  ").next();
    id.unwrap().to_owned()
}

#[test]
fn a_damaged_turn_does_not_hide_others_and_can_be_deleted() {
    let home = Folder::new();
    talked(&home, &["--conversation", "good"], &[("one", "1.")]);
    talked(&home, &["--conversation", "evil"], &[("two", "2.")]);
    stored::spoil(&database(&home), "evil");
    let ran = turns(&home, &["list"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("good › one"), "{}", ran.out);
    assert!(
        ran.err.contains("evil: the turn `")
            && ran.err.contains("is damaged: ")
            && ran.err.contains("turns delete --conversation evil"),
        "{}",
        ran.err
    );
    let good = listed_id(&ran.out, "good");
    assert_eq!(turns(&home, &["show", &good]).code, 0);
    let ran = turns(&home, &["delete", "--conversation", "evil", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(turns(&home, &["list"]).code, 0);
}

#[test]
fn a_damaged_record_does_not_hide_the_rest_of_its_turn() {
    let home = Folder::new();
    talked(&home, &[], &[("one", "1."), ("two", "2.")]);
    let id = newest(&home);
    stored::damage(
        &database(&home),
        "kind = 'message' AND body LIKE '%\"two\"%'",
    );
    let message = "is damaged: its text is not what was written";
    for args in [
        &["list"][..],
        &["show", &id],
        &["export", "--conversation", "default"],
    ] {
        let ran = turns(&home, args);
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains("two"), "its content is shown");
    }
    let shown = turns(&home, &["show", &id]).out;
    assert!(shown.contains("2."), "{shown}");
    let exported = turns(&home, &["export", "--conversation", "default"]).out;
    let damaged = exported.lines().filter(|line| line.contains("\"damaged\""));
    assert_eq!(damaged.count(), 1, "{exported}");
    // It goes on, and can be deleted.
    talked(&home, &["--switch-server"], &[("three", "3.")]);
    let ran = turns(&home, &["delete", "--conversation", "default", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(turns(&home, &["list"]).code, 0);
}

#[test]
fn the_title_of_a_conversation_is_shown_where_it_has_one() {
    let home = Folder::new();
    talked(&home, &["--conversation", "shop"], &[("one", "1.")]);
    talked(&home, &["--conversation", "garden"], &[("two", "2.")]);
    stored::look(&database(&home), async |store| {
        let shop = ConversationId::new("shop");
        let titled = store.update_conversation_info(&shop, |info| info.title("The new shop"));
        titled.await.unwrap();
    });
    let ran = turns(&home, &["list"]);
    assert!(
        ran.out.contains("  shop (The new shop) › one\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("  garden › two\n"), "{}", ran.out);
    let all = listed(&home, &[]);
    assert_eq!(all[0]["title"], Value::Null);
    assert_eq!(all[1]["title"], "The new shop");
    let ran = turns(&home, &["show", all[1]["turn"].as_str().unwrap()]);
    assert!(
        ran.out.contains("conversation shop (The new shop) · "),
        "{}",
        ran.out
    );

    // The chat keeps it.
    talked(
        &home,
        &["--conversation", "shop", "--switch-server"],
        &[("three", "3.")],
    );
    assert_eq!(listed(&home, &[])[0]["title"], "The new shop");
}

#[test]
fn show_says_why_a_call_was_denied_and_what_is_in_quarantine() {
    let home = Folder::new();
    let model = Model::plays([
        model::calls([("call_1", "list_files", "{}")]),
        model::text("42.", 1),
    ]);
    run_piped(&model, &home, &[], "What is 6 * 7?\n");
    let file = database(&home);
    let call = |change: &dyn Fn(&mut Value)| {
        let mut records = stored::records(&file, "default").into_iter();
        let mut call = records.find(|item| item["kind"] == "tool_call").unwrap();
        change(&mut call);
        stored::put(&file, "default", &call);
        turns(&home, &["show", &newest(&home)]).out
    };
    let out = call(&|call| {
        call["settled"]["results"] = serde_json::json!({ "refusal": "The call was not approved." });
        call["settled"]["denial"] = serde_json::json!({
            "reason": "data could leave",
            "sources": [
                { "kind": "tool_call", "id": "page-1", "tool": "fetch", "trustTier": "third-party-public" },
                { "kind": "message", "id": "notes-1", "private": true },
            ],
        });
    });
    for line in [
        "  denied: data could leave\n",
        "    third-party text in page-1 (fetch)\n",
        "    private data in notes-1\n",
    ] {
        assert!(out.contains(line), "{out}");
    }
    let out = call(&|call| {
        call["settled"]["results"] = serde_json::json!({ "failure": "It failed." });
        call["settled"]["denial"] = Value::Null;
        call["settled"]["quarantined"] = true.into();
    });
    assert!(
        out.contains("  in quarantine: the prompt does not show the result\n"),
        "{out}"
    );
    assert!(!out.contains("denied"), "{out}");
}
