//! What can be done at the prompt.

use turnwright_testkit::server::model;

use super::{PROMPT, chat as start, launch};
use crate::folder::Folder;
use crate::model::{Model, says_and_hangs};
use crate::pty::{CTRL_C, CTRL_D, UP};

fn silent() -> Model {
    Model::plays(Vec::<model::Reply>::new())
}

#[test]
fn a_second_ctrl_c_at_the_prompt_exits() {
    let (model, home) = (silent(), Folder::new());
    let mut terminal = start(&model, &home, &[]);
    terminal
        .keys("half a line")
        .wait_for("half a line")
        .keys(CTRL_C);
    terminal
        .wait_for("type /quit to exit.")
        .wait_for_prompt(PROMPT);
    // What is typed in between makes it the first time again.
    terminal
        .line("/nonsense")
        .wait_for("Unknown command /nonsense")
        .wait_for_prompt(PROMPT);
    terminal.keys(CTRL_C).wait_for_prompt(PROMPT);
    let hints = |text: &str| text.matches("or Ctrl-D, or type /quit").count();
    terminal
        .wait_until("the second hint", |item| hints(&item.shown()) == 2)
        .wait_for_prompt(PROMPT);
    assert_eq!(terminal.keys(CTRL_C).end(), 130);
    assert!(model.requests().is_empty());
}

#[test]
fn help_and_tools_list_what_exists() {
    let (model, home) = (silent(), Folder::new());
    let mut terminal = start(&model, &home, &[]);
    terminal
        .line("/help")
        .wait_for("/quit   exit")
        .wait_for_prompt(PROMPT);
    terminal
        .line("/tools")
        .wait_for("search_files")
        .wait_for_prompt(PROMPT);
    assert_eq!(terminal.line("/quit").end(), 0);
    assert!(model.requests().is_empty());
}

#[test]
fn an_interrupt_signal_does_not_change_the_line() {
    let (model, home) = (silent(), Folder::new());
    let mut terminal = start(&model, &home, &[]);
    // The line is a command, and no turn that a signal could call off which arrives late.
    terminal
        .keys("/hel")
        .wait_for_prompt("you › /hel")
        .signal("INT");
    terminal
        .line("p")
        .wait_for("/quit   exit")
        .wait_for_prompt(PROMPT);
    assert_eq!(terminal.line("/quit").end(), 0);
}

#[test]
fn a_backslash_continues_a_line() {
    let (model, home) = (Model::plays([model::text("Two lines.", 1)]), Folder::new());
    let mut terminal = start(&model, &home, &[]);
    terminal.line("one\\").wait_for_prompt("  … ›").line("two");
    terminal.wait_for("Two lines.").wait_for_prompt(PROMPT);
    assert_eq!(model.messages(0).pop().unwrap()["content"], "one\ntwo");
}

#[test]
fn the_history_has_lines_of_earlier_runs() {
    let messages = || [model::text("One.", 1), model::text("Two.", 1)];
    let (model, home) = (Model::plays(messages()), Folder::new());
    let mut terminal = start(&model, &home, &[]);
    terminal
        .line("the first question")
        .wait_for("One.")
        .wait_for_prompt(PROMPT);
    terminal
        .keys(UP)
        .wait_for_prompt("you › the first question");
    assert_eq!(
        terminal
            .keys(CTRL_C)
            .wait_for("Ctrl-D")
            .wait_for_prompt(PROMPT)
            .keys(CTRL_D)
            .end(),
        0
    );

    let mut terminal = start(&model, &home, &[]);
    terminal
        .keys(UP)
        .wait_for_prompt("you › the first question")
        .line("");
    terminal.wait_for("Two.").wait_for_prompt(PROMPT);
}

#[test]
fn input_typed_during_a_turn_is_the_next_turn() {
    let (model, home) = (
        Model::plays([model::text("One.", 1), model::text("Two.", 1)]),
        Folder::new(),
    );
    let mut terminal = start(&model, &home, &[]);
    terminal
        .keys("first\rsecond\r")
        .wait_for("Two.")
        .wait_for_prompt(PROMPT);
    assert_eq!(model.messages(1).pop().unwrap()["content"], "second");
}

#[test]
fn a_dumb_terminal_is_supported() {
    let model = Model::plays([says_and_hangs("Something "), says_and_hangs("Else ")]);
    let home = Folder::new();
    let mut terminal = launch(&model, &home, &[]).env("TERM", "dumb").start();
    terminal
        .wait_for("you ›")
        .keys("hello\n")
        .wait_for("Something");
    terminal.keys(CTRL_C).wait_for("cancelled");
    // At the prompt Ctrl-C is a signal here, and no key.
    let prompts = |text: &str| text.matches("you ›").count();
    terminal
        .wait_until("the prompt", |item| prompts(&item.shown()) == 2)
        .keys(CTRL_C);
    terminal
        .wait_for("or Ctrl-D, or type /quit")
        .wait_until("the prompt", |item| prompts(&item.shown()) == 3);
    terminal.keys("again\n").wait_for("Else").keys(CTRL_C);
    terminal
        .wait_until("the prompt", |item| prompts(&item.shown()) == 4)
        .keys(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert!(
        !terminal.written().contains('\u{1b}'),
        "{:?}",
        terminal.written()
    );
}

#[test]
fn a_terminate_signal_ends_the_chat_and_restores_the_terminal() {
    let (model, home) = (Model::plays([says_and_hangs("Something ")]), Folder::new());
    let mut terminal = start(&model, &home, &[]);
    assert!(
        terminal.mode().contains("-icanon"),
        "a line is being edited"
    );
    assert_eq!(terminal.signal("TERM").end(), 0);
    assert!(terminal.mode().contains(" icanon") && terminal.mode().contains(" echo "));
    assert!(terminal.written().ends_with("\u{1b}[?2004l\r\n"));

    let mut terminal = start(&model, &home, &[]);
    terminal.line("talk").wait_for("Something").signal("TERM");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_narrower_window_is_noticed_while_a_line_is_edited() {
    let (model, home) = (silent(), Folder::new());
    let mut terminal = start(&model, &home, &[]);
    terminal
        .resize(24, 30)
        .keys("one two three four five six seven");
    terminal.wait_for("seven").keys("\x01").keys("zero ");
    terminal.wait_for("you › zero one two three four\nfive six seven");
    assert_eq!(
        terminal
            .keys(CTRL_C)
            .wait_for("Ctrl-D")
            .wait_for_prompt(PROMPT)
            .keys(CTRL_D)
            .end(),
        0
    );
}

#[test]
fn the_banner_shows_model_directory_and_conversation() {
    let (model, home) = (silent(), Folder::new());
    let folder = home.path().to_str().unwrap().to_owned();
    let terminal = launch(&model, &home, &["--folder", &folder])
        .window(24, 200)
        .start();
    let mut terminal = terminal;
    terminal.wait_for_prompt(PROMPT);
    let shown = terminal.shown();
    assert!(
        shown.contains(&format!("scripted at {}", model.url())),
        "{shown}"
    );
    assert!(shown.contains(&format!("reads {folder}")), "{shown}");
    assert!(shown.contains("conversation default (new)"), "{shown}");
}

#[test]
fn help_is_wrapped_in_a_narrow_window() {
    let (model, home) = (silent(), Folder::new());
    let mut terminal = launch(&model, &home, &[]).window(40, 60).start();
    terminal
        .wait_for_prompt(PROMPT)
        .line("/help")
        .wait_for("history.")
        .wait_for_prompt(PROMPT);
    let shown = terminal.shown();
    assert!(
        shown.contains(
            "\n/new    start a new part; earlier messages stay stored but\n        are not sent\n"
        ),
        "{shown}"
    );
}
