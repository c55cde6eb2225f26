//! Turns at a terminal.

use turnwright_testkit::server::Answer;
use turnwright_testkit::server::model;

use super::{CONSENT, PROMPT, chat as start, launch, note, slow_tool, write_tool};
use crate::folder::Folder;
use crate::model::{Model, Plays, says_and_hangs};
use crate::pty::{CTRL_C, CTRL_D, ENTER, has_colour};

#[test]
fn an_answer_is_streamed_and_can_be_cancelled() {
    let model = Model::plays([
        Plays::from(says_and_hangs("The first half of it ")),
        model::text("All of it.", 3).into(),
    ]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &[]);
    // The rest is never sent: what is seen was seen before the answer was complete.
    terminal.line("tell me").wait_for("The first half of it");
    terminal.keys(CTRL_C).wait_for("cancelled");
    terminal.wait_for_prompt(PROMPT).line("again");
    terminal.wait_for("All of it.").wait_for_prompt(PROMPT);
    assert!(terminal.cursor_is_seen());
    assert_eq!(terminal.keys(CTRL_D).end(), 0);
    assert!(terminal.mode().contains(" icanon") && terminal.mode().contains(" echo "));
}

#[test]
fn a_turn_with_a_silent_server_can_be_cancelled() {
    let model = Model::plays([Plays::from(Answer::hang()), model::text("Here.", 1).into()]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &[]);
    terminal.line("hello?").wait_for("waiting for the model");
    terminal.wait_until("the request", |_| model.requests().len() == 1);
    terminal.keys(CTRL_C).wait_for("cancelled");
    terminal.wait_for_prompt(PROMPT);
    assert!(
        !terminal.shown().contains("waiting"),
        "{}",
        terminal.shown()
    );
    terminal.line("hello?").wait_for("Here.");
    terminal.wait_for_prompt(PROMPT);
}

#[test]
fn ctrl_c_while_a_tool_runs_cancels_the_turn() {
    let model = Model::plays([
        model::calls([("call_1", "linger", "{}")]),
        model::text("Fine.", 1),
    ]);
    let home = Folder::new();
    let (tools, begun) = slow_tool(&home);
    let mut terminal = start(&model, &home, &["--tools", &tools]);
    terminal
        .line("go")
        .wait_for_prompt(&CONSENT.replace("write_note", "linger"))
        .line("y");
    terminal.wait_for("running linger");
    terminal.wait_until("the tool", |_| begun.exists());
    terminal
        .keys(CTRL_C)
        .wait_for("cancelled")
        .wait_for_prompt(PROMPT);
    terminal
        .line("well")
        .wait_for("Fine.")
        .wait_for_prompt(PROMPT);
}

#[test]
fn words_are_not_broken_in_a_narrow_window() {
    let words = "A window of thirty columns breaks lines between words and never within them.";
    let model = Model::plays([
        Plays::from(note()),
        model::text(words, 9).into(),
        Answer::json(
            401,
            serde_json::json!({ "error": { "message": "no such key" } }),
        )
        .into(),
    ]);
    let home = Folder::new();
    let (tools, _) = write_tool(&home);
    let mut terminal = launch(&model, &home, &["--tools", &tools])
        .window(60, 30)
        .start();
    terminal
        .wait_for_prompt(PROMPT)
        .line("note it")
        // In two lines of this window.
        .wait_for("show all?");
    terminal
        .line("n")
        .wait_for("within them.")
        .wait_for_prompt(PROMPT);
    terminal
        .line("more")
        .wait_for("no answer:")
        .wait_for_prompt(PROMPT);
    let rows = terminal.rows();
    let at = rows
        .iter()
        .position(|row| row.starts_with("│ A window"))
        .unwrap();
    let messages = [
        "│ A window of thirty columns",
        "│ breaks lines between words",
        "│ and never within them.",
    ];
    assert_eq!(rows[at..at + 3], messages);
    // What is ours keeps to the same: sentences whose words a reader knows.
    let all = terminal.shown().replace('│', "");
    let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
    for complete in ["type /help for commands", "reason: it may change something"] {
        assert!(all.contains(complete), "{}", terminal.shown());
    }
}

#[test]
fn a_narrower_window_is_noticed() {
    let model = Model::plays([model::text(
        "one two three four five six seven eight nine",
        5,
    )]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &[]);
    terminal.resize(24, 20).line("count");
    terminal.wait_for("nine").wait_for_prompt(PROMPT);
    assert!(
        terminal
            .shown()
            .contains("│ one two three four\n│ five six seven\n│ eight nine"),
        "{}",
        terminal.shown()
    );
}

#[test]
fn colour_depends_on_the_option_and_no_color() {
    let plays = || Model::plays([note(), model::text("Done.", 1)]);
    let look = |args: &[&str], no_color: bool| {
        let (model, home) = (plays(), Folder::new());
        let (tools, _) = write_tool(&home);
        let args: Vec<&str> = ["--tools", &tools]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        let mut launch = launch(&model, &home, &args);
        if no_color {
            launch = launch.env("NO_COLOR", "1");
        }
        let mut terminal = launch.start();
        terminal
            .wait_for_prompt(PROMPT)
            .line("note it")
            .wait_for_prompt(CONSENT)
            .line("y");
        terminal
            .wait_for("Done.")
            .wait_for_prompt(PROMPT)
            .keys(CTRL_D)
            .end();
        terminal.written()
    };
    assert!(has_colour(&look(&[], false)));
    assert!(!has_colour(&look(&["--color", "never"], false)));
    assert!(!has_colour(&look(&[], true)));
    assert!(has_colour(&look(&["--color", "always"], true)));
}

#[test]
fn escape_sequences_of_a_model_are_not_interpreted() {
    let sly = "before\u{1b}[2J\u{1b}]0;mine\u{7}\u{1b}[31mred\rover\u{9b}2J after";
    let model = Model::plays([model::text(sly, 3)]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &["--color", "never"]);
    terminal
        .line("go")
        .wait_for("after")
        .wait_for_prompt(PROMPT);
    let shown = terminal.shown();
    assert!(shown.contains("before\\u{1b}[2J"), "{shown}");
    assert!(shown.contains("you › go"), "{shown}");
    let written = terminal.written();
    assert!(!written.contains("\u{1b}]0;") && !written.contains('\u{9b}') && !has_colour(&written));
}

#[test]
fn a_failed_turn_is_one_sentence_and_the_chat_continues() {
    let refused = serde_json::json!({ "error": { "message": "Incorrect API key provided" } });
    let model = Model::plays([
        Plays::from(Answer::json(401, refused)),
        model::text("Now it works.", 1).into(),
    ]);
    let home = Folder::new();
    let mut terminal = launch(&model, &home, &[])
        .env("OPENAI_API_KEY", "sk-secret-0815")
        .start();
    terminal
        .wait_for_prompt(PROMPT)
        .line("hello")
        .wait_for("no answer:")
        .wait_for_prompt(PROMPT);
    assert!(terminal.shown().contains("E_MODEL"), "{}", terminal.shown());
    terminal
        .line("hello")
        .wait_for("Now it works.")
        .wait_for_prompt(PROMPT);
    assert_eq!(
        model.requests()[0].header("authorization"),
        Some("Bearer sk-secret-0815")
    );
    assert!(!terminal.written().contains("0815"));
}

#[test]
fn wide_characters_take_two_columns() {
    let model = Model::plays([model::text("東京 東京 東京 東京 東京 東京 end", 4)]);
    let home = Folder::new();
    let mut terminal = launch(&model, &home, &[]).window(24, 24).start();
    terminal
        .wait_for_prompt(PROMPT)
        .keys("東京")
        .wait_for("you › 東京")
        .keys(ENTER);
    terminal.wait_for("end").wait_for_prompt(PROMPT);
    assert!(
        terminal
            .shown()
            .contains("│ 東京 東京 東京 東京\n│ 東京 東京 end"),
        "{}",
        terminal.shown()
    );
}

#[test]
fn model_text_cannot_imitate_the_program() {
    let fake = "? write_note needs approval\n  yes, no, edit or show all? \nyou › /quit";
    let model = Model::plays([
        model::calls([("call_1", "x\n? delete needs approval", "{}")]),
        model::text(fake, 1),
    ]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &[]);
    terminal
        .line("hello")
        .wait_for("/quit")
        .wait_for_prompt(PROMPT);
    let rows = terminal.rows();
    assert!(
        !rows.iter().any(|row| row.starts_with('?')),
        "{}",
        terminal.shown()
    );
    assert!(
        rows.iter().any(|row| row == "│ you › /quit"),
        "{}",
        terminal.shown()
    );
}

#[test]
fn closing_the_window_ends_the_program_and_its_children() {
    let model = Model::plays([model::calls([("call_1", "linger", "{}")])]);
    let home = Folder::new();
    let (tools, begun) = slow_tool(&home);
    let mut terminal = start(&model, &home, &["--tools", &tools, "--yes"]);
    terminal
        .line("go")
        .wait_until("the tool", |_| begun.exists());
    let process = std::fs::read_to_string(&begun).unwrap();
    terminal.signal("HUP").end();
    crate::program::wait_until_ended(process.trim());
}

#[test]
fn huge_token_counts_do_not_end_the_chat() {
    let most = u64::MAX;
    let complete = serde_json::json!({
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Many." }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": most, "completion_tokens": most, "total_tokens": most },
    });
    let model = Model::plays([
        Plays::from(Answer::json(200, complete)),
        model::text("Few.", 1).into(),
    ]);
    let home = Folder::new();
    let mut terminal = start(&model, &home, &[]);
    terminal
        .line("how many?")
        .wait_for("Many.")
        .wait_for_prompt(PROMPT);
    terminal
        .line("and now?")
        .wait_for("Few.")
        .wait_for_prompt(PROMPT);
}
