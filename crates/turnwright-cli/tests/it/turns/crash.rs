//! A program that was killed in mid turn.

use turnwright_testkit::server::chat;

use super::{at_terminal, cut_off, database, let_go, listed, newest, turns};
use crate::chat::{CONSENT, PROMPT, chat as start, note, write_tool};
use crate::folder::Folder;
use crate::model::{Model, says_and_hangs};
use crate::pty::CTRL_D;
use crate::stored;

#[test]
fn a_turn_that_was_cut_off_says_so_and_what_to_do() {
    let home = Folder::new();
    cut_off(&home, []);
    let_go(&home);
    let all = listed(&home, &["--state", "interrupted"]);
    assert_eq!(
        (all.len(), &all[0]["unknownCalls"]),
        (1, &1.into()),
        "{all:?}"
    );
    let ran = turns(&home, &["list"]);
    assert!(
        ran.out.contains("  interrupted  ") && ran.out.contains("1 call, 1 unknown\n"),
        "{}",
        ran.out
    );
    let id = newest(&home);
    let ran = turns(&home, &["show", &id]);
    for shown in [
        "  interrupted\n",
        "→ linger {}\n  ledger: begun, and nobody knows whether it took effect\n",
        &format!("To take it up again:\n  turnwright turns resume {id}\n"),
        "You are asked what became of the call of which nobody knows; with `--tell-model` nobody is.\n",
    ] {
        assert!(
            ran.out.contains(shown),
            "{shown:?} is missing in\n{}",
            ran.out
        );
    }
}

#[test]
fn whoever_knows_what_became_of_a_call_is_asked() {
    let home = Folder::new();
    let model = cut_off(&home, [chat::text("Then all is tidy.", 1).into()]);
    let_go(&home);
    let id = newest(&home);
    let mut terminal = at_terminal(&home, &["resume", &id]);
    terminal
        .wait_for("? linger was begun, and nobody knows whether it took effect")
        .wait_for_prompt("  linger: done, not done or unknown?")
        .line("perhaps")
        .wait_for("Type d if it took effect")
        .wait_for_prompt("  linger: done, not done or unknown?")
        .line("d")
        .wait_for_prompt("  what came of it (Enter for nothing):")
        .line("the attic is empty");
    assert_eq!(terminal.end(), 0);
    let shown = terminal.shown();
    assert!(shown.contains("│ Then all is tidy."), "{shown}");
    assert!(shown.contains("takes up turn"), "{shown}");
    let message = model.messages(1);
    let result = message.last().unwrap()["content"].as_str().unwrap();
    assert!(result.contains("the attic is empty"), "{result}");
    let all = listed(&home, &[]);
    assert_eq!(
        (&all[0]["state"], &all[0]["runs"]),
        (&"answered".into(), &2.into())
    );
    let ran = turns(&home, &["show", &id]);
    for shown in [
        "taken up again\n",
        "? what became of the call of linger\n  somebody knew that it was done: the attic is empty\n",
    ] {
        assert!(
            ran.out.contains(shown),
            "{shown:?} is missing in\n{}",
            ran.out
        );
    }
}

#[test]
fn a_call_that_somebody_knows_was_not_done_is_made_again() {
    let home = Folder::new();
    let begun = home.file("begun");
    // Only the first time it takes longer than its program lives.
    let script = format!(
        "[ -e '{0}' ] && echo swept || {{ touch '{0}'; exec sleep 25; }}",
        begun.display()
    );
    let tools = serde_json::json!([{
        "name": "sweep", "description": "Sweeps.", "effects": "writes",
        "parameters": { "type": "object", "properties": {} }, "command": ["sh", "-c", script],
    }]);
    let tools = home.write("sweep.json", &tools.to_string());
    let call = chat::calls([("call_1", "sweep", "{}")]);
    let model = Model::plays([call, chat::text("Clean.", 1)]);
    let mut terminal = start(&model, &home, &["--yes", "--tools", &tools]);
    terminal
        .line("sweep")
        .wait_until("the tool", |_| begun.exists());
    terminal.kill();
    let_go(&home);
    let mut terminal = at_terminal(&home, &["resume", &newest(&home)]);
    terminal
        .wait_for_prompt("  sweep: done, not done or unknown?")
        .line("n")
        // It is the same call, and was allowed before.
        .wait_for("← swept")
        .wait_for("│ Clean.");
    assert_eq!(terminal.end(), 0);
    assert_eq!(listed(&home, &[])[0]["unknownCalls"], 0);
}

#[test]
fn a_turn_that_waited_for_consent_waits_again() {
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let model = Model::plays([note(), chat::text("Noted.", 1)]);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal.line("note milk").wait_for_prompt(CONSENT);
    let all = listed(&home, &[]);
    assert_eq!(all[0]["state"], "waiting", "{all:?}");
    let shown = turns(&home, &["show", &newest(&home)]).out;
    assert!(
        shown.contains(
            "? write_note asks to run\n  {\"text\":\"milk\"}\n  because it may change something\n  waits for an answer\n"
        ),
        "{shown}"
    );
    terminal.kill();
    let_go(&home);
    assert!(!written.exists());

    let mut terminal = at_terminal(&home, &["resume", &newest(&home)]);
    terminal
        .wait_for_prompt(CONSENT)
        .line("y")
        .wait_for("Noted.");
    assert_eq!(terminal.end(), 0);
    assert_eq!(
        std::fs::read_to_string(&written).unwrap(),
        r#"{"text":"milk"}"#
    );
}

#[test]
fn a_chat_says_that_its_last_turn_was_cut_off_and_takes_it_up() {
    let home = Folder::new();
    let model = Model::plays([
        says_and_hangs("Half an ").into(),
        crate::model::Plays::from(chat::text("A whole answer.", 1)),
    ]);
    let mut terminal = start(&model, &home, &[]);
    terminal.line("answer me").wait_for("Half an").kill();
    // At once: whether its program is gone nobody knows yet, and so it waits.
    let mut terminal = start(&model, &home, &[]);
    assert!(
        terminal
            .words()
            .contains("or another program runs it: /resume takes it up again"),
        "{}",
        terminal.shown()
    );
    terminal
        .line("/resume")
        .wait_for("│ A whole answer.")
        .wait_for_prompt(PROMPT);
    terminal
        .line("/resume")
        .wait_for("There is nothing to take up")
        .wait_for_prompt(PROMPT)
        .keys(CTRL_D)
        .end();
    let messages = model.messages(1);
    assert_eq!(messages.last().unwrap()["content"], "answer me");
    let messages = stored::messages_of(&database(&home), "default");
    assert_eq!(messages, ["answer me", "A whole answer."]);
    let terminal = start(&model, &home, &[]);
    assert!(
        !terminal.words().contains("cut off"),
        "{}",
        terminal.shown()
    );
}
