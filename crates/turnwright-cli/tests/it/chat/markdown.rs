//! Answers are rendered at a terminal, and raw elsewhere.

use turnwright_testkit::server::model;

use super::{PROMPT, chat as start, launch, run_piped};
use crate::folder::Folder;
use crate::model::{Model, says_and_hangs};
use crate::pty::{CTRL_C, has_colour};

const ANSWER: &str = "# Plan\n\nUse **two** steps:\n\n1. Read `a.rs`\n2. Run it\n\n```rust\nfn main() {}\n```\n\n| key | value |\n| --- | ---: |\n| a | 1 |\n\nDone.";

#[test]
fn an_answer_is_rendered_while_it_streams() {
    // In many pieces, which cut marks and lines anywhere.
    let model = Model::plays([model::text(ANSWER, 40)]);
    let home = Folder::new();
    let mut terminal = launch(&model, &home, &[]).window(40, 60).start();
    terminal
        .wait_for_prompt(PROMPT)
        .line("plan")
        .wait_for("Done.")
        .wait_for_prompt(PROMPT);
    let shown = terminal.shown();
    let expected = [
        "│ Plan",
        "│",
        "│ Use two steps:",
        "│",
        "│ 1. Read a.rs",
        "│ 2. Run it",
        "│",
        "│   fn main() {}",
        "│",
        "│ key │ value",
        "│ ────┼──────",
        "│ a   │     1",
        "│",
        "│ Done.",
    ];
    assert!(shown.contains(&expected.join("\n")), "{shown}");
    for mark in ["**", "```", "# Plan", "---"] {
        assert!(!shown.contains(mark), "{mark} in\n{shown}");
    }
    assert!(has_colour(&terminal.written()));
}

#[test]
fn a_block_is_seen_before_it_is_complete() {
    let model = Model::plays([says_and_hangs("Done:\n\nThe **first** half ")]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &[]);
    terminal
        .line("go")
        .wait_for("│ Done:\n")
        .wait_for("s The **first** half");
    terminal
        .keys(CTRL_C)
        .wait_for("cancelled")
        .wait_for_prompt(PROMPT);
}

#[test]
fn plain_text_is_written_once() {
    let model = Model::plays([model::text("Only words, and nothing else.", 9)]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &["--color", "never"]);
    terminal
        .line("go")
        .wait_for("else.")
        .wait_for_prompt(PROMPT);
    assert!(
        terminal.shown().contains("│ Only words, and nothing else."),
        "{}",
        terminal.shown()
    );
    assert!(!has_colour(&terminal.written()));
}

#[test]
fn the_option_plain_and_a_pipe_leave_the_text_as_it_is() {
    let home = Folder::new();
    let model = Model::plays([model::text(ANSWER, 9), model::text(ANSWER, 9)]);
    let mut terminal = launch(&model, &home, &["--plain"]).window(40, 60).start();
    terminal
        .wait_for_prompt(PROMPT)
        .line("plan")
        .wait_for("Done.")
        .wait_for_prompt(PROMPT);
    let shown = terminal.shown();
    for line in [
        "│ # Plan",
        "│ Use **two** steps:",
        "│ ```rust",
        "│ | --- | ---: |",
    ] {
        assert!(shown.contains(line), "{line} is missing in\n{shown}");
    }
    terminal.line("/quit").end();
    let ran = run_piped(&model, &home, &[], "plan\n");
    assert_eq!(ran.out, format!("{ANSWER}\n"));
}

#[test]
fn entities_cannot_smuggle_control_characters() {
    let model = Model::plays([model::text(
        "a&#27;[2Jb **c**&#x9b;2J\n\n`d&#27;`\n\nend",
        5,
    )]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &["--color", "never"]);
    terminal
        .line("go")
        .wait_for("│ end")
        .wait_for_prompt(PROMPT);
    let shown = terminal.shown();
    assert!(shown.contains("you › go"), "{shown}");
    assert!(shown.contains("a\\u{1b}[2Jb c\\u{9b}2J"), "{shown}");
    let written = terminal.written();
    assert!(
        !written.contains("\u{1b}[2J") && !written.contains('\u{9b}'),
        "{written:?}"
    );
}
