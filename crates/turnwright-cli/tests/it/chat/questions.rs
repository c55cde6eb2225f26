//! Approvals at a terminal.

use turnwright_testkit::server::model;

use super::{CONSENT, PROMPT, chat as start, launch, note, write_tool, write_tool_up_to};
use crate::folder::Folder;
use crate::model::Model;
use crate::pty::CTRL_C;

#[test]
fn a_write_runs_after_approval() {
    let model = Model::plays([note(), model::text("Done.", 1)]);
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal.line("note it").wait_for_prompt(CONSENT);
    assert!(
        terminal
            .shown()
            .contains("write_note needs approval\n  │ {\"text\":\"milk\"}")
    );
    assert!(!written.exists());
    terminal
        .line("maybe")
        .wait_for("Type y, n, e or s, then Enter.");
    terminal.wait_for_prompt(CONSENT).line("y");
    terminal
        .wait_for("it is written")
        .wait_for("Done.")
        .wait_for_prompt(PROMPT);
    assert_eq!(
        std::fs::read_to_string(written).unwrap(),
        r#"{"text":"milk"}"#
    );
}

#[test]
fn a_denied_call_does_not_run_and_the_model_reads_why() {
    let model = Model::plays([note(), model::text("As you like.", 1)]);
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal.line("note it").wait_for_prompt(CONSENT).line("no");
    terminal.wait_for("As you like.").wait_for_prompt(PROMPT);
    assert!(!written.exists());
    let message = model.messages(1).pop().unwrap().to_string();
    assert!(message.contains("the user denied it"), "{message}");
}

#[test]
fn arguments_can_be_edited_and_are_checked_again() {
    let model = Model::plays([note(), model::text("Done.", 1)]);
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal.line("note it").wait_for_prompt(CONSENT).line("e");
    // It begins as what was asked for; the cursor is at its end.
    terminal.wait_for_prompt("  arguments: {\"text\":\"milk\"}");
    terminal
        .keys("\x7f\x7f and much more than fits")
        .line("\"}");
    terminal
        .wait_for("invalid arguments:")
        .wait_for_prompt(CONSENT)
        .line("e");
    // It goes on where it was left.
    let left = "{\"text\":\"milk and much more than fits\"}";
    terminal.wait_for_prompt(&format!("  arguments: {left}"));
    let back = "\x7f".repeat(" and much more than fits\"}".len());
    terminal.keys(&back).keys(", eggs").line("\"}");
    terminal.wait_for("Done.").wait_for_prompt(PROMPT);
    assert_eq!(
        std::fs::read_to_string(written).unwrap(),
        r#"{"text":"milk, eggs"}"#
    );
}

#[test]
fn input_typed_before_the_question_does_not_answer_it() {
    let model = Model::plays([note(), model::text("Done.", 1)]);
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    // All of it at once: the yes is there before the question is.
    terminal.keys("note it\ry\r").wait_for_prompt(CONSENT);
    assert!(!written.exists());
    terminal.line("n").wait_for("Done.").wait_for_prompt(PROMPT);
    assert!(!written.exists());
}

#[test]
fn ctrl_c_at_the_question_cancels_the_turn() {
    let model = Model::plays([note(), model::text("Fine.", 1)]);
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal
        .line("note it")
        .wait_for_prompt(CONSENT)
        .keys(CTRL_C);
    terminal.wait_for("cancelled").wait_for_prompt(PROMPT);
    assert!(!written.exists());
    terminal
        .line("well")
        .wait_for("Fine.")
        .wait_for_prompt(PROMPT);
    assert_eq!(terminal.line("/quit").end(), 0);
}

#[test]
fn a_terminate_signal_is_handled_at_the_question() {
    let model = Model::plays([note()]);
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal
        .line("note it")
        .wait_for_prompt(CONSENT)
        .signal("TERM");
    assert_eq!(terminal.end(), 0);
    assert!(!written.exists());
    assert!(terminal.mode().contains(" icanon") && terminal.mode().contains(" echo "));
}

#[test]
fn yes_approves_without_asking() {
    let model = Model::plays([note(), model::text("Done.", 1)]);
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let mut terminal = start(&model, &home, &["--tools", &tools, "--yes"]);
    terminal
        .line("note it")
        .wait_for("approved by --yes")
        .wait_for("Done.");
    terminal.wait_for_prompt(PROMPT);
    assert!(written.exists());
}

#[test]
fn arguments_are_shown_character_by_character() {
    // Spaces that would vanish at the end of a line, and invisible characters.
    let text = format!("ls{}; rm\u{3164}\u{e0101}\u{a0}-rf", " ".repeat(100));
    let call = serde_json::json!({ "text": text }).to_string();
    let model = Model::plays([
        model::calls([("call_1", "write_note", call.as_str())]),
        model::text("Done.", 1),
    ]);
    let home = Folder::new();
    let (tools, _) = write_tool_up_to(&home, 9_000);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal.line("note it").wait_for_prompt(CONSENT);
    let shown = terminal.rows();
    let at = shown.iter().position(|row| row.contains("\"ls")).unwrap();
    // 76 columns of a line are arguments; the second one has what is left of the space before it.
    assert_eq!(shown[at], "  │ {\"text\":\"ls");
    let left = " ".repeat(100 - (76 - "{\"text\":\"ls".len()));
    assert_eq!(
        shown[at + 1],
        format!("  │ {left}; rm\\u3164\\udb40\\udd01\\u00a0-rf\"}}")
    );
}

#[test]
fn long_arguments_do_not_push_the_question_away() {
    let call = serde_json::json!({ "text": "a".repeat(6_000) }).to_string();
    let model = Model::plays([
        model::calls([("call_1", "write_note", call.as_str())]),
        model::text("As you like.", 1),
    ]);
    let home = Folder::new();
    let (tools, _) = write_tool_up_to(&home, 9_000);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal.line("note it").wait_for_prompt(CONSENT);
    let shown = terminal.shown();
    assert!(
        shown.contains("? write_note needs approval\n  │ {\"text\":\"aaa"),
        "{shown}"
    );
    assert!(shown.contains("more lines; type s to show all"), "{shown}");
    terminal.line("s").wait_until("all of it", |item| {
        item.written().matches('a').count() > 6_500
    });
    terminal
        .wait_for_prompt(CONSENT)
        .line("n")
        .wait_for("As you like.");
}

#[test]
fn a_dumb_terminal_discards_input_typed_before_the_question() {
    let model = Model::plays([note(), model::text("As you like.", 1)]);
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let mut terminal = launch(&model, &home, &["--tools", &tools])
        .env("TERM", "dumb")
        .start();
    terminal.wait_for_prompt(PROMPT);
    // All at once: four times yes, before there is anything to say yes to.
    terminal
        .keys("note it\ny\ny\ny\ny\n")
        .wait_for_prompt(CONSENT);
    assert!(!written.exists());
    terminal
        .line("n")
        .wait_for("As you like.")
        .wait_for_prompt(PROMPT);
    assert!(!written.exists());
}

/// Text that looks like a question of the program at the beginning of a line of 80 columns.
fn fake_question(before: &str) -> String {
    format!(
        "{before}? write_note needs approval\n{}\n{before}{}",
        CONSENT,
        CONSENT.trim()
    )
}

#[test]
fn every_row_of_model_text_has_the_margin() {
    // Words that are wider than a line, which a terminal would go on with in its first column.
    for filler in ["\u{a0}", "a", "\u{3000}", "👩\u{200d}🔬", "\u{2007}"] {
        for many in [39, 76, 78] {
            let text = fake_question(&filler.repeat(many));
            let model = Model::plays([model::text(format!("{text}\nover"), 3)]);
            let home = Folder::new();
            let mut terminal = launch(&model, &home, &[]).unreported_size().start();
            terminal.wait_for_prompt(PROMPT).line("hello");
            terminal.wait_for("│ over").wait_for_prompt(PROMPT);
            let rows = terminal.rows();
            let first = rows.iter().position(|row| row.contains("hello")).unwrap();
            let last = rows.iter().position(|row| row == "│ over").unwrap();
            for row in &rows[first + 1..last] {
                assert!(row.starts_with('│'), "{filler:?} {many}: {rows:#?}");
            }
        }
    }
}

#[test]
fn no_argument_looks_like_the_question_itself() {
    let begins = "{\"text\":\"";
    for before in [76, 78, 80] {
        let text = format!("{}{}", "a".repeat(before - begins.len()), CONSENT);
        let call = serde_json::json!({ "text": text }).to_string();
        let model = Model::plays([
            model::calls([("call_1", "write_note", call.as_str())]),
            model::text("As you like.", 1),
        ]);
        let home = Folder::new();
        let (tools, _) = write_tool_up_to(&home, 9_000);
        let mut terminal = launch(&model, &home, &["--tools", &tools])
            .unreported_size()
            .start();
        terminal.wait_for_prompt(PROMPT).line("note it");
        terminal.wait_for_prompt(CONSENT);
        let rows = terminal.rows();
        let asked = rows.iter().filter(|row| row.starts_with(CONSENT)).count();
        assert_eq!(asked, 1, "{rows:#?}");
    }
}
