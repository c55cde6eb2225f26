//! `delete`.

use std::fs;

use serde_json::json;
use turnwright_testkit::server::model;

use super::{at_terminal, cut_off, database, let_go, listed, newest, talked, turns};
use crate::chat::{chat as start, run_piped};
use crate::folder::Folder;
use crate::model::Model;
use crate::pty::CTRL_D;
use crate::stored::{self, conversations, messages_of};

/// A turn with a result that is too large for a record.
fn with_large_result(home: &Folder, name: &str) {
    let tools = json!([{
        "name": "numbers", "description": "Many numbers.",
        "parameters": { "type": "object", "properties": {} },
        "command": ["seq", "1", "10000"], "effects": "read_only",
    }]);
    let tools = home.write("tools.json", &tools.to_string());
    let model = Model::plays([
        model::calls([("call_1", "numbers", "{}")]),
        model::text("Many.", 1),
    ]);
    let args = ["--tools", &tools, "--conversation", name];
    assert_eq!(run_piped(&model, home, &args, "count\n").code, 0);
}

fn results(home: &Folder) -> usize {
    fs::read_dir(home.file("conversations.db.results"))
        .unwrap()
        .count()
}

#[test]
fn a_deletion_asks_first() {
    let home = Folder::new();
    talked(&home, &[], &[("one", "1.")]);
    let id = newest(&home);
    let ran = turns(&home, &["delete", &id]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("--yes"), "{}", ran.err);
    for no in ["n\r", "\r", "whatever\r", CTRL_D] {
        let mut terminal = at_terminal(&home, &["delete", &id]);
        terminal
            .wait_for_prompt("  yes or no?")
            .keys(no)
            .wait_for("Nothing was deleted.");
        assert_eq!(terminal.end(), 1);
    }
    let mut terminal = at_terminal(&home, &["delete", &id]);
    terminal
        .wait_for(&format!("This deletes the turn {id}"))
        .wait_for_prompt("  yes or no?")
        .line("y")
        .wait_for("Deleted 3 records");
    assert_eq!(terminal.end(), 0);
    assert!(listed(&home, &[]).is_empty());
}

#[test]
fn deleting_a_turn_deletes_its_results() {
    let home = Folder::new();
    with_large_result(&home, "shop");
    with_large_result(&home, "garden");
    assert_eq!(results(&home), 2);
    let id = newest(&home);
    let ran = turns(&home, &["delete", &id, "--yes", "--json"]);
    let deleted = ran.json().pop().unwrap();
    assert_eq!(deleted["records"], 4, "{deleted}");
    assert!(deleted["bytes"].as_u64().unwrap() > 48_894, "{deleted}");
    assert_eq!(results(&home), 1);
    assert!(messages_of(&database(&home), "garden").is_empty());
    assert_eq!(messages_of(&database(&home), "shop"), ["count", "Many."]);
    assert_eq!(turns(&home, &["delete", &id, "--yes"]).code, 2);
}

#[test]
fn deleting_a_turn_does_not_change_the_others() {
    let home = Folder::new();
    let model = talked(&home, &[], &[("one", "1."), ("two", "2."), ("three", "3.")]);
    let second = listed(&home, &[])[1]["turn"].as_str().unwrap().to_owned();
    assert_eq!(turns(&home, &["delete", &second, "--yes"]).code, 0);
    assert_eq!(
        messages_of(&database(&home), "default"),
        ["one", "1.", "three", "3."]
    );
    // And it still goes on, with the server that knows it.
    let ran = run_piped(&model, &home, &[], "four\n");
    assert_eq!(ran.code, 1, "the script has ended");
    assert_eq!(model.messages(3).len(), 6);
}

#[test]
fn deleting_a_conversation_deletes_its_parts_and_its_history() {
    let home = Folder::new();
    with_large_result(&home, "shop");
    talked(
        &home,
        &["--conversation", "shop", "--new", "--switch-server"],
        &[("two", "2.")],
    );
    talked(&home, &["--conversation", "garden"], &[("three", "3.")]);
    let history = home.file("conversations.db.chats/shop.history");
    fs::write(&history, "two\n").unwrap();
    let ran = turns(&home, &["delete", "--conversation", "shop", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.out.starts_with("Deleted ") && ran.out.ends_with("shop, shop~2\n"),
        "{}",
        ran.out
    );
    assert_eq!(conversations(&database(&home)), ["garden"]);
    assert_eq!(results(&home), 0);
    assert!(!history.exists());
    // Not even its name is left.
    let left = fs::read_dir(home.file("conversations.db.chats")).unwrap();
    let left: Vec<_> = left.map(|item| item.unwrap().file_name()).collect();
    assert_eq!(left, ["garden.lock"]);
    let ran = turns(&home, &["delete", "--conversation", "shop", "--yes"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no conversation `shop`"), "{}", ran.err);
}

#[test]
fn running_turns_and_open_chats_are_not_deleted() {
    let home = Folder::new();
    let model = cut_off(&home, []);
    stored::hold_until(
        &database(&home),
        "default",
        &stored::in_half_an_hour(),
        3_600_000,
    );
    let id = newest(&home);
    for args in [
        ["delete", id.as_str(), "--yes", "--json"],
        ["delete", "--conversation", "default", "--yes"],
    ] {
        let ran = turns(&home, &args);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        let messages = "another process runs the conversation default: for ";
        assert!(
            ran.err.contains(messages) && ran.err.contains("more if it has crashed"),
            "{}",
            ran.err
        );
    }
    let_go(&home);
    let chat = start(&model, &home, &[]);
    let ran = turns(&home, &["delete", "--conversation", "default", "--yes"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err
            .contains("the conversation default is open in a chat"),
        "{}",
        ran.err
    );
    drop(chat);
    let ran = turns(&home, &["delete", "--conversation", "default", "--yes"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.out
            .contains("whether that call took effect is unknown."),
        "{}",
        ran.out
    );
    assert!(conversations(&database(&home)).is_empty());
}

#[test]
fn conversations_are_deleted_by_age_and_by_size() {
    let home = Folder::new();
    talked(&home, &["--conversation", "old"], &[("one", "1.")]);
    talked(&home, &["--conversation", "new"], &[("two", "2.")]);
    let ran = turns(&home, &["delete", "--older-than", "30d", "--yes"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "Deleted 0 records, 0 bytes\n"),
        "{ran:?}"
    );
    let all = turns(
        &home,
        &["delete", "--larger-than", "1GB", "--yes", "--json"],
    )
    .json();
    assert_eq!(all[0]["conversations"], json!([]));
    // What was written longest ago goes first, and no more than must.
    let bytes: usize = ["old", "new"]
        .iter()
        .flat_map(|name| stored::records(&database(&home), name))
        .map(|item| item.to_string().len())
        .sum();
    let most = (bytes - 1).to_string();
    let deleted = turns(
        &home,
        &["delete", "--larger-than", &most, "--yes", "--json"],
    )
    .json();
    assert_eq!(deleted[0]["conversations"], json!(["old"]), "{deleted:?}");
    let deleted = turns(&home, &["delete", "--older-than", "0s", "--yes", "--json"]).json();
    assert_eq!(deleted[0]["conversations"], json!(["new"]), "{deleted:?}");
    assert!(listed(&home, &[]).is_empty());
}

#[test]
fn a_conversation_with_an_interrupted_call_is_not_deleted_by_age() {
    let home = Folder::new();
    cut_off(&home, []);
    let_go(&home);
    let ran = turns(&home, &["delete", "--older-than", "0s", "--yes"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.out
            .contains("they contain an interrupted call or a process runs them: default"),
        "{}",
        ran.out
    );
    assert_eq!(conversations(&database(&home)), ["default"]);
}

#[test]
fn conflicting_or_missing_targets_are_refused() {
    let home = Folder::new();
    for args in [
        &["delete"][..],
        &["delete", "x", "--conversation", "y"],
        &["delete", "x", "--older-than", "3d"],
        &["delete", "--older-than", "soon"],
        &["delete", "--larger-than", "-1"],
        &["export"],
        &["export", "x", "--conversation", "y"],
        &["export", "x", "--force"],
        &["show"],
    ] {
        let ran = turns(&home, args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
    }
}

#[test]
fn an_open_conversation_is_not_deleted_by_age_or_size() {
    let home = Folder::new();
    let model = talked(&home, &["--conversation", "old"], &[("one", "1.")]);
    let chat = start(&model, &home, &["--conversation", "old"]);
    for limit in [["--older-than", "0s"], ["--larger-than", "0"]] {
        let ran = turns(&home, &[&["delete", "--yes"], &limit[..]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let says = ["Deleted 0 records", "they are open in a chat: old"];
        assert!(
            says.iter().all(|item| ran.out.contains(item)),
            "{}",
            ran.out
        );
        assert_eq!(listed(&home, &[]).len(), 1);
    }
    // A result that is too young stays.
    assert_eq!(
        turns(&home, &["delete", "--older-than", "30d", "--yes"]).code,
        0
    );
    drop(chat);
    assert_eq!(
        turns(&home, &["delete", "--older-than", "0s", "--yes"]).code,
        0
    );
    assert!(conversations(&database(&home)).is_empty());
}

#[test]
fn a_chat_says_that_its_conversation_was_deleted() {
    let home = Folder::new();
    let model = Model::plays([model::text("1.", 1), model::text("2.", 1)]);
    let mut terminal = start(&model, &home, &[]);
    terminal
        .line("one")
        .wait_for("│ 1.")
        .wait_for_prompt(crate::chat::PROMPT);
    assert_eq!(turns(&home, &["delete", &newest(&home), "--yes"]).code, 0);
    stored::look(&database(&home), async |store| {
        let conversation_id = turnwright::store::ConversationId::new("default");
        store.delete_conversation(&conversation_id).await.unwrap();
    });
    terminal
        .line("two")
        .wait_for("this conversation was deleted meanwhile and starts again")
        .wait_for("│ 2.");
}

#[test]
fn a_deletion_is_refused_if_the_results_are_elsewhere() {
    let home = Folder::new();
    with_large_result(&home, "shop");
    let (file, away) = (database(&home), home.file("away"));
    fs::rename(home.file("conversations.db.results"), &away).unwrap();
    let id = newest(&home);
    let file = file.to_str().unwrap();
    for what in [&[id.as_str()][..], &["--conversation", "shop"]] {
        let args = [&["delete", "--yes", "--store", file], what].concat();
        let ran = turns(&home, &args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains("--results DIR"), "{}", ran.err);
    }
    assert!(!home.file("conversations.db.results").exists());
    assert_eq!(messages_of(&database(&home), "shop"), ["count", "Many."]);
    fs::remove_dir(home.file("conversations.db.results")).unwrap();
    let args = [
        "delete",
        &id,
        "--yes",
        "--store",
        file,
        "--results",
        away.to_str().unwrap(),
    ];
    let ran = turns(&home, &args);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_dir(away).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_database_uses_the_results_of_its_target() {
    let home = Folder::new();
    with_large_result(&home, "shop");
    let link = home.file("link.db");
    std::os::unix::fs::symlink(database(&home), &link).unwrap();
    let args = [
        "delete",
        "--conversation",
        "shop",
        "--yes",
        "--store",
        link.to_str().unwrap(),
    ];
    let ran = turns(&home, &args);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(results(&home), 0);
    assert!(!home.file("link.db.results").exists());
}
