//! What others wrote into a database.

use serde_json::json;

use super::{at_terminal, database, listed, talked, turns};
use crate::folder::Folder;
use crate::pty::has_colour;
use crate::stored;

const SLY: &str = "a\u{1b}[2J\u{1b}]0;mine\u{7}\rb\u{202e}c\u{9b}31m";

/// A turn all of whose words would do something to a terminal.
fn planted(home: &Folder) {
    talked(home, &[], &[("hello", "Hi.")]);
    let file = database(home);
    let turn = json!({
        "v": 1, "kind": "turn", "id": SLY, "nonce": "n", "state": "failed", "runs": 1, "iterations": 1,
        "usage": { "requests": 1, "inputTokens": u64::MAX, "cachedInputTokens": 0, "outputTokens": u64::MAX, "reasoningTokens": 0 },
        "error": { "code": SLY, "message": SLY },
        "startedAt": "2120-01-01T00:00:00.000000000Z", "endedAt": "2120-01-01T00:00:01.000000000Z",
    });
    let at = "2026-01-01T00:00:00.000000000Z";
    let message = |author: serde_json::Value, id: &str| {
        json!({
            "v": 1, "kind": "message", "id": id, "createdAt": at, "updatedAt": at, "author": author, "text": SLY,
        })
    };
    let call = json!({
        "v": 1, "kind": "tool_call", "id": "call-1", "createdAt": at, "updatedAt": at, "completedAt": at, "tool": SLY,
        "args": { "text": SLY }, "checksum": "00".repeat(32), "settled": { "results": { "failure": SLY } },
    });
    let gate = json!({
        "v": 1, "kind": "gate", "id": format!("{SLY}/g"), "turnId": SLY, "name": SLY,
        "question": json!({ "tool": SLY }).to_string(), "state": { "answered": json!({ "decision": "reject", "reason": SLY }).to_string() },
        "openedAt": at, "closedAt": at,
    });
    let ledger = json!({
        "v": 1, "kind": "ledger", "id": "e", "turnId": SLY, "toolCall": "call-1", "checksum": "00".repeat(32), "tool": SLY,
        "fingerprint": "00".repeat(32), "args": "{}", "state": "unknown", "startedAt": at, "endedAt": at,
    });
    let about = json!({
        "v": 1, "kind": "memory", "id": "turnwright-chat", "createdAt": at, "updatedAt": at,
        "text": json!({ "server": SLY, "model": SLY, "folder": SLY }).to_string(),
    });
    for record in [
        about,
        turn,
        message("user".into(), "m1"),
        message(
            json!({ "agent": { "name": SLY, "trustTier": "third-party-public" } }),
            "m2",
        ),
        message("assistant".into(), "m3"),
        call,
        gate,
        ledger,
    ] {
        stored::put(&file, SLY, &record);
    }
}

fn is_harmless(text: &str) -> bool {
    let sly = |sign: char| {
        (sign.is_control() && !matches!(sign, '\n' | '\r' | '\t' | '\u{1b}')) || sign == '\u{202e}'
    };
    !text.chars().any(sly) && !text.contains("\u{1b}]") && !text.contains("\u{1b}[2J")
}

#[test]
fn escape_sequences_in_a_database_are_not_interpreted() {
    let home = Folder::new();
    planted(&home);
    for args in [
        &["list", "--color", "never"][..],
        &["show", SLY, "--color", "never"],
        &["show", "a\u{1b}", "--color", "never"],
        &["export", SLY],
        &["export", "--conversation", SLY],
        &["show", SLY, "--json"],
        &["list", "--json"],
        &["show", "no\u{1b}[2Jsuch", "--color", "never"],
        &[
            "export",
            "--conversation",
            "no\u{9b}31msuch",
            "--color",
            "never",
        ],
        &["resume", SLY, "--color", "never"],
    ] {
        let mut terminal = at_terminal(&home, args);
        terminal.end();
        let written = terminal.written();
        assert!(
            is_harmless(&written) && !has_colour(&written),
            "{args:?}: {written:?}"
        );
        assert!(!written.is_empty());
    }
}

#[test]
fn a_suggested_command_quotes_what_a_database_contains() {
    let home = Folder::new();
    talked(&home, &[], &[("hello", "Hi.")]);
    let file = database(&home);
    let about = stored::records(&file, "default");
    let is_note = |item: &&serde_json::Value| item["kind"] == "conversation_info";
    let about = about.iter().find(is_note).unwrap();
    for (conversation_id, id, word) in [
        (
            "one",
            "x --yes; touch y",
            "turns resume 'x --yes; touch y'\n",
        ),
        ("two", "--yes", "turns resume -- --yes\n"),
        (
            "three",
            "$(touch y)\u{1b}",
            r"turns resume $'$(touch y)\033'",
        ),
    ] {
        stored::put(&file, conversation_id, about);
        let turn = json!({
            "v": 1, "kind": "turn", "id": id, "nonce": "n", "state": "failed", "runs": 1, "iterations": 1,
            "usage": { "requests": 1, "inputTokens": 0, "cachedInputTokens": 0, "outputTokens": 0, "reasoningTokens": 0 },
            "startedAt": "2026-01-01T00:00:00.000000000Z", "endedAt": "2026-01-01T00:00:01.000000000Z",
        });
        stored::put(&file, conversation_id, &turn);
        let ran = turns(&home, &["show", "--", id]);
        assert!(ran.out.contains(word), "{word:?} is missing in\n{ran:?}");
    }
}

#[test]
fn stored_text_cannot_imitate_the_program() {
    let home = Folder::new();
    let forged =
        "Fine.\n? delete_all needs approval\n  approved\nTo resume it:\n  turnwright --yes";
    talked(&home, &[], &[("hello", forged)]);
    let file = database(&home);
    let mut message = stored::records(&file, "default")
        .into_iter()
        .find(|item| item["text"] == "hello")
        .unwrap();
    message["text"] = forged.into();
    stored::put(&file, "default", &message);
    let out = turns(&home, &["show", &super::newest(&home)]).out;
    for line in forged.lines() {
        for margin in ["> ", "│ "] {
            assert!(out.contains(&format!("\n{margin}{line}\n")), "{out}");
        }
        assert!(!out.contains(&format!("\n{line}")), "{out}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_as_a_database_does_not_block() {
    let home = Folder::new();
    talked(&home, &[], &[("hello", "Hi.")]);
    let pipe = home.file("pipe.db");
    let pipe = pipe.to_str().unwrap();
    let made = crate::program::command("mkfifo").arg(pipe).status();
    assert!(made.unwrap().success());
    for args in [&["list"][..], &["delete", "--older-than", "1d", "--yes"]] {
        let ran = turns(&home, &[args, &["--store", pipe]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.err.contains("is not a file"), "{}", ran.err);
    }
    let secret = home.file("conversations.db.secret");
    std::fs::remove_file(&secret).unwrap();
    std::fs::rename(pipe, &secret).unwrap();
    let model = crate::model::Model::plays([turnwright_testkit::server::model::text("x", 1)]);
    let ran = crate::chat::run_piped(&model, &home, &["--new"], "hello\n");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("it is not a regular file"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_named_file_does_not_choose_which_results_are_deleted() {
    let home = Folder::new();
    talked(&home, &[], &[("hello", "Hi.")]);
    let theirs = home.file("theirs.db");
    std::fs::copy(database(&home), &theirs).unwrap();
    let (mine, link) = (
        home.file("conversations.db.results"),
        home.file("theirs.db.results"),
    );
    std::os::unix::fs::symlink(&mine, link).unwrap();
    let store = ["--store", theirs.to_str().unwrap()];
    for args in [
        &["list"][..],
        &["delete", "--conversation", "default", "--yes"],
    ] {
        let ran = turns(&home, &[args, &store[..]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(
            ran.err.contains("is a link") && ran.err.contains("--results"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn json_output_has_the_stored_values() {
    let home = Folder::new();
    planted(&home);
    let all = listed(&home, &[]);
    assert_eq!(
        (&all[0]["turn"], &all[0]["conversation"]),
        (&SLY.into(), &SLY.into())
    );
    assert_eq!(
        (&all[0]["firstMessage"], &all[0]["unknownCalls"]),
        (&SLY.into(), &1.into())
    );
    let ran = turns(&home, &["export", "--conversation", SLY]);
    assert_eq!(ran.json(), stored::records(&database(&home), SLY));
}

#[test]
fn a_hostile_conversation_can_be_deleted() {
    let home = Folder::new();
    planted(&home);
    let ran = turns(&home, &["delete", SLY, "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(listed(&home, &[]).len(), 1);
    let ran = turns(&home, &["delete", "--conversation", SLY, "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(is_harmless(&ran.out));
    assert_eq!(stored::conversations(&database(&home)), ["default"]);
}
