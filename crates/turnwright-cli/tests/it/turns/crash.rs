//! A program that was killed in mid turn.

use turnwright_testkit::server::model;

use super::{at_terminal, cut_off, database, let_go, listed, newest, turns};
use crate::chat::{CONSENT, PROMPT, chat as start, note, write_tool};
use crate::folder::Folder;
use crate::model::{Model, says_and_hangs};
use crate::pty::CTRL_D;
use crate::stored;

#[test]
fn an_interrupted_turn_says_what_to_do() {
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
        "→ linger {}\n  ledger: interrupted; whether it took effect is unknown\n",
        &format!("To resume it:\n  turnwright turns resume {id}\n"),
        "You will be asked whether the interrupted call took effect, unless you pass `--tell-model`.\n",
    ] {
        assert!(
            ran.out.contains(shown),
            "{shown:?} is missing in\n{}",
            ran.out
        );
    }
}

#[test]
fn the_user_is_asked_whether_an_interrupted_call_took_effect() {
    let home = Folder::new();
    let model = cut_off(&home, [model::text("Then all is tidy.", 1).into()]);
    let_go(&home);
    let id = newest(&home);
    let mut terminal = at_terminal(&home, &["resume", &id]);
    terminal
        .wait_for("? linger was interrupted: did it take effect?")
        .wait_for_prompt("  linger: done, not done or unknown?")
        .line("perhaps")
        .wait_for("Type d if it took effect")
        .wait_for_prompt("  linger: done, not done or unknown?")
        .line("d")
        .wait_for_prompt("  result (optional):")
        .line("the attic is empty");
    assert_eq!(terminal.end(), 0);
    let shown = terminal.shown();
    assert!(shown.contains("│ Then all is tidy."), "{shown}");
    assert!(shown.contains("resuming turn"), "{shown}");
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
        "resumed\n",
        "? linger was interrupted: did it take effect?\n  answer: it took effect, with the result the attic is empty\n",
    ] {
        assert!(
            ran.out.contains(shown),
            "{shown:?} is missing in\n{}",
            ran.out
        );
    }
}

#[test]
fn a_call_that_did_not_take_effect_runs_again() {
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
    let call = model::calls([("call_1", "sweep", "{}")]);
    let model = Model::plays([call, model::text("Clean.", 1)]);
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
fn a_turn_that_waited_for_approval_waits_again() {
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let model = Model::plays([note(), model::text("Noted.", 1)]);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal.line("note milk").wait_for_prompt(CONSENT);
    let all = listed(&home, &[]);
    assert_eq!(all[0]["state"], "waiting", "{all:?}");
    let shown = turns(&home, &["show", &newest(&home)]).out;
    assert!(
        shown.contains(
            "? write_note needs approval\n  {\"text\":\"milk\"}\n  reason: it may change something\n  waiting for an answer\n"
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
fn a_chat_reports_an_interrupted_turn_and_resumes_it() {
    let home = Folder::new();
    let model = Model::plays([
        says_and_hangs("Half an ").into(),
        crate::model::Plays::from(model::text("A whole answer.", 1)),
    ]);
    let mut terminal = start(&model, &home, &[]);
    terminal.line("answer me").wait_for("Half an").kill();
    // At once: it is not known yet whether the process is gone, so it waits.
    let mut terminal = start(&model, &home, &[]);
    assert!(
        terminal
            .words()
            .contains("or another process runs it. Type /resume"),
        "{}",
        terminal.shown()
    );
    terminal
        .line("/resume")
        .wait_for("│ A whole answer.")
        .wait_for_prompt(PROMPT);
    terminal
        .line("/resume")
        .wait_for("Nothing to resume")
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
