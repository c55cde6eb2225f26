//! `resume`.

use turnwright_testkit::server::{Answer, chat};

use super::{command, cut_off, database, let_go, listed, newest, talked, turns};
use crate::chat::run_piped;
use crate::folder::Folder;
use crate::model::{Model, Plays};
use crate::program::Ran;
use crate::stored;

/// A turn that could not be answered, by a model that answers the next time.
fn unanswered(home: &Folder) -> Model {
    let broken = Answer::json(401, serde_json::json!({ "error": { "message": "no" } }));
    let model = Model::plays([Plays::from(broken), chat::text("Now.", 1).into()]);
    assert_eq!(
        run_piped(&model, home, &["--system", "Be kind."], "hello\n").code,
        1
    );
    model
}

#[test]
fn a_turn_that_failed_goes_on_with_what_its_chat_had() {
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
fn a_turn_that_has_its_answer_gives_it_again() {
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
        (&"ended".into(), &"Hi there.".into())
    );
}

#[test]
fn a_turn_that_the_conversation_went_on_without_is_not_taken_up() {
    let home = Folder::new();
    let model = cut_off(&home, [chat::text("Never mind.", 1).into()]);
    let_go(&home);
    let cut = newest(&home);
    let ran = run_piped(&model, &home, &[], "leave it\n");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "Never mind.\n"),
        "{ran:?}"
    );
    assert!(ran.err.contains("the last turn was cut off"), "{}", ran.err);
    let ran = turns(&home, &["resume", &cut]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("E_TURN_NOT_RESUMABLE"), "{}", ran.err);
    let all = listed(&home, &[]);
    assert_eq!(all[1]["state"], "abandoned", "{all:?}");
    let shown = turns(&home, &["show", &cut]).out;
    assert!(
        shown.contains("The conversation went on without it"),
        "{shown}"
    );
}

#[test]
fn a_turn_that_another_program_has_is_left_alone() {
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
            .contains("another program has the conversation default: for ")
            && ran.err.contains("--wait"),
        "{}",
        ran.err
    );
    assert_eq!(listed(&home, &[])[0]["state"], "running");
}

#[test]
fn whoever_waits_goes_on_once_the_program_is_known_to_be_gone() {
    let home = Folder::new();
    let model = cut_off(&home, [chat::text("At last.", 1).into()]);
    let ran = turns(&home, &["resume", &newest(&home), "--wait", "--tell-model"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "At last.\n"), "{ran:?}");
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn what_was_said_to_one_server_is_not_sent_to_another() {
    let home = Folder::new();
    let model = unanswered(&home);
    let other = Model::plays([chat::text("Elsewhere.", 1)]);
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
fn a_file_of_others_does_not_choose_where_a_key_goes() {
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
fn a_file_of_others_chooses_neither_the_task_nor_the_folder() {
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
        "  turnwright turns resume {id} --store {} --base-url {} --folder {} --system='Be kind.'\nLook at it first",
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
            .contains(&format!("its chat could read below {}", there.display())),
        "{}",
        ran.err
    );
    let task = model.messages(1)[0]["content"].to_string();
    assert!(!task.contains("Be kind."), "{task}");
}

#[test]
fn a_turn_that_has_its_answer_needs_neither_a_server_nor_tools() {
    let home = Folder::new();
    let (tools, _) = crate::chat::write_tool(&home);
    let model = talked(&home, &["--tools", &tools], &[("hello", "Hi there.")]);
    // Nobody listens there any more, the file of tools is gone, and the folder is another one.
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
fn a_turn_of_no_chat_gives_its_answer_too() {
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
