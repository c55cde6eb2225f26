//! Checks before a turn is resumed, and the suggested command.

use turnwright::record::RecordKind;
use turnwright::store::{ConversationId, StoreExt as _};
use turnwright_testkit::server::model;

use super::{at_terminal, cut_off, database, let_go, listed, newest, turns};
use crate::chat::{PROMPT, chat as start, run_piped, slow_tool};
use crate::folder::Folder;
use crate::model::Model;
use crate::stored;

/// Until the call is answered for.
fn is_untouched(home: &Folder, model: &Model) {
    assert_eq!(model.requests().len(), 1);
    let all = listed(home, &[]);
    assert_eq!(
        (&all[0]["state"], &all[0]["runs"], &all[0]["unknownCalls"]),
        (&"interrupted".into(), &1.into(), &1.into())
    );
}

#[test]
fn an_interrupted_call_stays_open_without_a_terminal() {
    let home = Folder::new();
    let model = cut_off(&home, [model::text("I shall look.", 1).into()]);
    let_go(&home);
    let id = newest(&home);
    // That everything may run says nothing about what has run.
    for more in [&[][..], &["--yes"], &["--json"]] {
        let ran = turns(&home, &[&["resume", &id], more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
        assert!(
            ran.err
                .contains("it is unknown whether `linger {}` (started ")
                && ran.err.contains("--tell-model"),
            "{}",
            ran.err
        );
        is_untouched(&home, &model);
    }
    let ran = turns(&home, &["resume", &id, "--tell-model"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "I shall look.\n"),
        "{ran:?}"
    );
    assert!(
        ran.err
            .contains("--tell-model: the model is told that the effect is unknown"),
        "{}",
        ran.err
    );
    let all = listed(&home, &[]);
    assert_eq!(
        (&all[0]["state"], &all[0]["unknownCalls"]),
        (&"answered".into(), &1.into())
    );
    let shown = turns(&home, &["show", &id]).out;
    assert!(
        shown.contains("ledger: recorded as unknown") && !shown.contains("ledger: interrupted"),
        "{shown}"
    );
}

#[test]
fn yes_does_not_answer_for_interrupted_calls() {
    let home = Folder::new();
    let _model = cut_off(&home, [model::text("I shall look.", 1).into()]);
    let_go(&home);
    let mut terminal = at_terminal(&home, &["resume", &newest(&home), "--yes"]);
    terminal
        .wait_for_prompt("  linger: done, not done or unknown?")
        .line("u")
        .wait_for("I shall look.");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_piped_chat_resumes_only_if_nothing_is_lost() {
    let home = Folder::new();
    let model = cut_off(&home, [model::text("I shall look.", 1).into()]);
    let_go(&home);
    let (tools, _) = slow_tool(&home);
    let ran = run_piped(&model, &home, &["--tools", &tools], "/resume\nnext\n");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(
        ran.err.contains("it is unknown whether `linger {}`"),
        "{}",
        ran.err
    );
    is_untouched(&home, &model);
    let ran = run_piped(&model, &home, &[], "/resume\n");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("--without-tools"), "{}", ran.err);
    is_untouched(&home, &model);
    let args = ["--without-tools", "--tell-model"];
    let ran = run_piped(&model, &home, &args, "/resume\n");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "I shall look.\n"),
        "{ran:?}"
    );
    let ran = run_piped(&model, &home, &args, "/resume\n");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("Nothing to resume"), "{}", ran.err);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_chat_prints_the_complete_resume_command() {
    let home = Folder::new();
    let model = cut_off(&home, [model::text("Never mind.", 1).into()]);
    let_go(&home);
    let id = newest(&home);
    let command = format!("To resume it:\n  turnwright turns resume {id}\n");
    // Nothing is said, and so nothing is left behind, nor forgotten.
    for _ in 0..2 {
        let ran = run_piped(&model, &home, &[], "");
        assert!(
            ran.err
                .contains("the last turn was interrupted, and its chat had tools")
                && ran.err.contains(&command),
            "{}",
            ran.err
        );
    }
    let mut terminal = start(&model, &home, &[]);
    assert!(
        terminal
            .words()
            .contains("and its chat had tools that this one does not have")
    );
    terminal
        .line("/resume")
        // Where its lines are broken depends on the path of the file.
        .wait_until("what helps", |item| {
            item.words()
                .contains("`--without-tools` to continue without them")
        })
        .wait_for_prompt(PROMPT);
    drop(terminal);
    is_untouched(&home, &model);
}

/// A turn in a file that was named, whose chat had the tools of a file with a sly name; and that file.
fn cut_off_elsewhere(home: &Folder, model: &Model) -> (String, String, String) {
    let (plain, _) = slow_tool(home);
    let tools = home.file("it's\u{1b}[2J;\nmine.json");
    std::fs::rename(plain, &tools).unwrap();
    let tools = tools.to_str().unwrap().to_owned();
    let file = home.file("c.db").to_str().unwrap().to_owned();
    let args = ["--tools", &tools, "--store", &file];
    assert_eq!(run_piped(model, home, &args, "hello\n").code, 1);
    let all = listed(home, &["--store", &file]);
    (all[0]["turn"].as_str().unwrap().to_owned(), file, tools)
}

#[test]
fn a_turn_is_not_resumed_without_its_tools() {
    let home = Folder::new();
    let broken = turnwright_testkit::server::Answer::json(401, serde_json::json!({}));
    let model = Model::plays([
        broken.into(),
        crate::model::Plays::from(model::text("Now.", 1)),
    ]);
    let (id, file, tools) = cut_off_elsewhere(&home, &model);
    let url = model.url();
    let resume = ["resume", &id, "--store", &file, "--base-url", &url];
    let ran = turns(&home, &resume);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(
        ran.err.contains(r"it\'s\033[2J;\012mine.json'")
            && ran.err.contains("`--without-tools`")
            && !ran.err.contains('\u{1b}'),
        "{}",
        ran.err
    );
    assert_eq!(model.requests().len(), 1);
    let both = [&resume[..], &["--tools", &tools, "--without-tools"]].concat();
    assert_eq!(turns(&home, &both).code, 2);
    let ran = turns(&home, &[&resume[..], &["--without-tools"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "Now.\n"), "{ran:?}");
    let offered = model.requests()[1].json().unwrap()["tools"].to_string();
    assert!(!offered.contains("linger") && offered.contains("list_files"));
    // What has its answer gives it again, and needs nothing.
    assert_eq!(turns(&home, &resume).code, 0);
}

#[cfg(unix)]
#[test]
fn the_suggested_command_works_in_a_shell() {
    let home = Folder::new();
    let broken = turnwright_testkit::server::Answer::json(401, serde_json::json!({}));
    let model = Model::plays([
        broken.into(),
        crate::model::Plays::from(model::text("Now.", 1)),
    ]);
    let (id, file, _) = cut_off_elsewhere(&home, &model);
    let shown = turns(&home, &["show", &id, "--store", &file]).out;
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let command = shown
        .lines()
        .find(|item| item.starts_with("  turnwright turns resume"));
    let command = command.unwrap().replace(
        "turnwright",
        &format!("'{}'", env!("CARGO_BIN_EXE_turnwright")),
    );
    let Ok(ran) = crate::program::command("bash")
        .args(["-c", &command])
        .output()
    else {
        crate::say("there is no bash: the command was not typed");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "Now.\n", "{ran:?}");
    let offered = model.requests()[1].json().unwrap()["tools"].to_string();
    assert!(offered.contains("linger"), "{offered}");
}

#[test]
fn a_turn_of_another_program_is_not_resumed() {
    let home = Folder::new();
    let model = cut_off(&home, [model::text("Instead.", 1).into()]);
    let_go(&home);
    // As if another program had held it: there is no note.
    stored::look(&database(&home), async |store| {
        let conversation_id = ConversationId::new("default");
        let kind = RecordKind::ConversationInfo;
        store.delete(&conversation_id, kind, "info").await.unwrap();
    });
    let id = newest(&home);
    let shown = turns(&home, &["show", &id]).out;
    assert!(
        shown.contains("belongs to another program") && !shown.contains("turns resume"),
        "{shown}"
    );
    let url = model.url();
    let resume = [
        "resume",
        &id,
        "--base-url",
        &url,
        "--model",
        "scripted",
        "--tell-model",
    ];
    let ran = turns(&home, &resume);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("--without-tools"), "{}", ran.err);
    is_untouched(&home, &model);
    let ran = run_piped(&model, &home, &["--switch-server"], "/resume\n");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    is_untouched(&home, &model);
    let ran = turns(&home, &[&resume[..], &["--without-tools"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "Instead.\n"), "{ran:?}");
}
