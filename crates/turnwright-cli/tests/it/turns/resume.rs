//! `resume`.

use turnwright_testkit::server::{Answer, model};

use super::{command, cut_off, database, let_go, listed, newest, talked, turns};
use crate::chat::run_piped;
use crate::folder::Folder;
use crate::model::{Model, Plays};
use crate::program::Ran;
use crate::stored;

/// A turn that could not be answered, by a model that answers the next time.
fn unanswered(home: &Folder) -> Model {
    let broken = Answer::json(401, serde_json::json!({ "error": { "message": "no" } }));
    let model = Model::plays([Plays::from(broken), model::text("Now.", 1).into()]);
    assert_eq!(
        run_piped(&model, home, &["--system", "Be kind."], "hello\n").code,
        1
    );
    model
}

#[test]
fn a_failed_turn_is_resumed_with_the_settings_of_its_chat() {
    let home = Folder::new();
    let model = unanswered(&home);
    let ran = turns(&home, &["resume", &newest(&home)]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (0, "Now.\n", "")
    );
    // The same prompt, to the same model, with the same task.
    let (first, second) = (model.requests()[0].json(), model.requests()[1].json());
    assert_eq!(first, second);
    let first = first.unwrap();
    let task = first["messages"][0]["content"].as_str().unwrap();
    assert!(task.starts_with("Be kind."), "{task}");
}

#[test]
fn an_answered_turn_prints_its_answer_again() {
    let home = Folder::new();
    let model = talked(&home, &[], &[("hello", "Hi there.")]);
    let ran = turns(&home, &["resume", &newest(&home)]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hi there.\n"), "{ran:?}");
    let mut terminal = super::at_terminal(&home, &["resume", &newest(&home)]);
    assert_eq!(terminal.end(), 0);
    assert!(
        terminal.shown().contains("│ Hi there."),
        "{}",
        terminal.shown()
    );
    assert_eq!(model.requests().len(), 1);
    let ran = turns(&home, &["resume", &newest(&home), "--json"]);
    let end = ran.json().pop().unwrap();
    assert_eq!(
        (&end["event"], &end["text"]),
        (&"turnEnd".into(), &"Hi there.".into())
    );
}

#[test]
fn an_abandoned_turn_is_not_resumed() {
    let home = Folder::new();
    let model = cut_off(&home, [model::text("Never mind.", 1).into()]);
    let_go(&home);
    let cut = newest(&home);
    let ran = run_piped(&model, &home, &[], "leave it\n");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "Never mind.\n"),
        "{ran:?}"
    );
    assert!(
        ran.err.contains("the last turn was interrupted"),
        "{}",
        ran.err
    );
    let ran = turns(&home, &["resume", &cut]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("E_TURN_NOT_RESUMABLE"), "{}", ran.err);
    let all = listed(&home, &[]);
    assert_eq!(all[1]["state"], "abandoned", "{all:?}");
    let shown = turns(&home, &["show", &cut]).out;
    assert!(
        shown.contains("The conversation continued without it"),
        "{shown}"
    );
}

#[test]
fn a_turn_that_another_process_runs_is_not_resumed() {
    let home = Folder::new();
    cut_off(&home, []);
    stored::hold_until(
        &database(&home),
        "default",
        &stored::in_half_an_hour(),
        3_600_000,
    );
    let ran = turns(&home, &["resume", &newest(&home)]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err
            .contains("another process runs the conversation default: for ")
            && ran.err.contains("--wait"),
        "{}",
        ran.err
    );
    assert_eq!(listed(&home, &[])[0]["state"], "running");
}

#[test]
fn a_waiting_resume_continues_after_the_other_process_ended() {
    let home = Folder::new();
    let model = cut_off(&home, [model::text("At last.", 1).into()]);
    let ran = turns(&home, &["resume", &newest(&home), "--wait", "--tell-model"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "At last.\n"), "{ran:?}");
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_conversation_is_not_sent_to_another_server() {
    let home = Folder::new();
    let model = unanswered(&home);
    let other = Model::plays([model::text("Elsewhere.", 1)]);
    let id = newest(&home);
    let ran = turns(&home, &["resume", &id, "--base-url", &other.url()]);
    assert_eq!(ran.code, 2);
    for named in [model.url(), other.url(), "--switch-server".into()] {
        assert!(ran.err.contains(&named), "{}", ran.err);
    }
    assert!(other.requests().is_empty());
    let ran = turns(
        &home,
        &["resume", &id, "--base-url", &other.url(), "--switch-server"],
    );
    assert_eq!((ran.code, ran.out.as_str()), (0, "Elsewhere.\n"), "{ran:?}");
}

#[test]
fn a_named_file_does_not_choose_the_server() {
    let home = Folder::new();
    let model = unanswered(&home);
    let file = home.file("theirs.db");
    std::fs::copy(database(&home), &file).unwrap();
    let file = file.to_str().unwrap();
    // Not even on this machine: others may listen there.
    let mut resume = command(&home, &["resume", &newest(&home), "--store", file]);
    let ran = Ran::of(resume.env("OPENAI_API_KEY", "sk-secret"), "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.contains(&model.url()) && ran.err.contains("--base-url"),
        "{}",
        ran.err
    );
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_named_file_does_not_choose_the_system_prompt_or_directory() {
    let home = Folder::new();
    let model = unanswered(&home);
    let (file, there) = (home.file("theirs.db"), home.file("there"));
    std::fs::copy(database(&home), &file).unwrap();
    std::fs::create_dir(&there).unwrap();
    std::fs::write(there.join("note.txt"), "x").unwrap();
    let note = stored::records(&file, "default")
        .into_iter()
        .find(|item| item["kind"] == "conversation_info");
    let mut note = note.unwrap();
    let mut about: serde_json::Value =
        serde_json::from_str(note["data"].as_str().unwrap()).unwrap();
    about["turnwright-chat"]["folder"] = there.to_str().unwrap().into();
    note["data"] = about.to_string().into();
    stored::put(&file, "default", &note);
    let store = ["--store", file.to_str().unwrap()];
    let id = newest(&home);
    let shown = turns(&home, &[&["show", &id], &store[..]].concat()).out;
    let complete = format!(
        "  turnwright turns resume {id} --store {} --base-url {} --folder {} --system='Be kind.'\nReview the command first",
        store[1],
        model.url(),
        there.display()
    );
    assert!(shown.contains(&complete), "{shown}");
    let url = model.url();
    let args = [&["resume", &id, "--base-url", &url], &store[..]].concat();
    let ran = turns(&home, &args);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Now.\n"), "{ran:?}");
    assert!(
        ran.err
            .contains(&format!("its chat could read {}", there.display())),
        "{}",
        ran.err
    );
    let task = model.messages(1)[0]["content"].to_string();
    assert!(!task.contains("Be kind."), "{task}");
}

#[test]
fn an_answered_turn_needs_no_server_and_no_tools() {
    let home = Folder::new();
    let (tools, _) = crate::chat::write_tool(&home);
    let model = talked(&home, &["--tools", &tools], &[("hello", "Hi there.")]);
    // The server, the tools file and the directory are gone.
    drop(model);
    std::fs::remove_file(&tools).unwrap();
    let id = newest(&home);
    let file = home.file("theirs.db");
    std::fs::copy(database(&home), &file).unwrap();
    for args in [
        vec!["resume", &id],
        vec!["resume", &id, "--store", file.to_str().unwrap()],
        vec!["resume", &id, "--base-url", "http://127.0.0.1:1/v1"],
    ] {
        let ran = turns(&home, &args);
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.err.as_str()),
            (0, "Hi there.\n", ""),
            "{args:?}"
        );
    }
}

#[test]
fn an_answered_turn_of_another_program_prints_its_answer() {
    let home = Folder::new();
    let file = home.file("demo.db");
    let file = file.to_str().unwrap();
    assert_eq!(crate::program::run(&["demo", "--store", file]).code, 0);
    let id = listed(&home, &["--store", file])[0]["turn"]
        .as_str()
        .unwrap()
        .to_owned();
    let ran = turns(&home, &["resume", &id, "--store", file]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(!ran.out.trim().is_empty());
}
