//! Without a terminal.

use turnwright_testkit::server::{Answer, model};

use super::{piped, run_piped, write_tool};
use crate::folder::Folder;
use crate::model::{Model, Plays};
use crate::program::{Ran, program, run};

#[test]
fn each_line_is_a_turn_and_answers_are_plain() {
    let model = Model::plays([model::text("One, and\nmore.", 3), model::text("Two.", 1)]);
    let ran = run_piped(&model, &Folder::new(), &[], "first\n\nsecond");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "One, and\nmore.\nTwo.\n");
    assert_eq!(model.messages(1).pop().unwrap()["content"], "second");
}

#[test]
fn a_call_that_needs_approval_is_denied_in_a_pipe() {
    let call = model::calls([("call_1", "write_note", r#"{"text": "milk"}"#)]);
    let model = Model::plays([call, model::text("I could not.", 1)]);
    let home = Folder::new();
    let (tools, written) = write_tool(&home);
    let ran = run_piped(&model, &home, &["--tools", &tools], "note it\n");
    assert_eq!(ran.code, 0);
    assert!(
        ran.err.contains("denied: no terminal to ask for approval"),
        "{}",
        ran.err
    );
    // Standard output has only the answer.
    assert_eq!(ran.out, "I could not.\n");
    assert!(!written.exists() && !ran.err.contains('\u{1b}'));
}

#[test]
fn json_output_of_a_chat_is_line_by_line() {
    let model = Model::plays([model::text("Hello there.", 2).usage(20, 4)]);
    let ran = run_piped(&model, &Folder::new(), &["--json"], "hello\n");
    assert_eq!(ran.code, 0);
    let events = ran.json();
    let names: Vec<&str> = events
        .iter()
        .map(|item| item["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "turnStart",
            "messageDelta",
            "messageDelta",
            "usage",
            "message",
            "turnEnd"
        ]
    );
    let end = events.last().unwrap();
    assert_eq!(
        (end["text"].as_str(), end["status"].as_str()),
        (Some("Hello there."), Some("answered"))
    );
    assert_eq!(end["usage"]["inputTokens"], 20);
}

#[test]
fn no_answer_to_the_last_line_exits_with_one() {
    let refused = || Answer::json(401, serde_json::json!({ "error": { "message": "no" } }));
    let model = Model::plays([Plays::from(refused()), model::text("Yes.", 1).into()]);
    let home = Folder::new();
    assert_eq!(run_piped(&model, &home, &[], "one\ntwo\n").code, 0);
    let model = Model::plays([Plays::from(model::text("Yes.", 1)), refused().into()]);
    let ran = run_piped(&model, &Folder::new(), &[], "one\ntwo\n");
    assert_eq!(ran.code, 1);
    assert_eq!(ran.out, "Yes.\n");
    assert!(ran.err.starts_with("no answer: "), "{}", ran.err);
}

#[test]
fn a_misspelled_provider_is_not_sent_to_a_server_as_a_model() {
    let model = Model::plays([model::text("Hello.", 1), model::text("Hello.", 1)]);
    let chat = |name: &str| {
        let mut command = program();
        command
            .args(["chat", "--forget", "--model", name])
            .env("OPENAI_BASE_URL", model.url());
        Ran::of(&mut command, "hi\n")
    };
    let ran = chat("anthropc:claude-x");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.contains("did you mean `anthropic:claude-x`?") && ran.err.contains("`gemini:`"),
        "{}",
        ran.err
    );
    assert!(model.requests().is_empty());
    for name in ["llama3.2:3b", "qwen3:8b"] {
        let ran = chat(name);
        assert_eq!((ran.code, ran.out.as_str()), (0, "Hello.\n"), "{ran:?}");
        assert_eq!(
            model.requests().last().unwrap().json().unwrap()["model"],
            name
        );
    }
}

#[test]
fn an_unreachable_server_is_one_sentence() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let home = Folder::new();
    let chat = |more: &[&str]| {
        let mut command = program();
        command
            .args(["chat", "--base-url", &url])
            .args(more)
            .env("TURNWRIGHT_HOME", home.path());
        Ran::of(&mut command, "hello\n")
    };
    let ran = chat(&["--model", "m"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(
        ran.err.contains("is the base URL right, and does it run?"),
        "{}",
        ran.err
    );
    let ran = chat(&[]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.lines().count()),
        (1, "", 1),
        "{ran:?}"
    );
    assert!(
        ran.err.contains("Select a model with `--model"),
        "{}",
        ran.err
    );
}

#[test]
fn without_a_server_the_error_says_how_to_configure_one() {
    let ran = run(&["chat", "--forget"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.contains("--base-url http://127.0.0.1:8080/v1"),
        "{}",
        ran.err
    );
    let ran = run(&[
        "chat",
        "--forget",
        "--base-url",
        "localhost:8080",
        "--model",
        "m",
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("the base URL is invalid"), "{}", ran.err);
    let ran = run(&[
        "chat",
        "--forget",
        "--base-url",
        "http://127.0.0.1:1/v1",
        "--folder",
        "/no/such",
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`/no/such`"), "{}", ran.err);
}

#[test]
fn the_only_model_is_used_and_of_several_one_must_be_selected() {
    let ask = |models: &[&str]| {
        let model = Model::with_models(models, [model::text("Hi.", 1)]);
        let mut command = program();
        command.args(["chat", "--forget", "--base-url", &model.url()]);
        let ran = Ran::of(&mut command, "hello\n");
        (ran, model)
    };
    let (ran, model) = ask(&["only-one"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hi.\n"), "{ran:?}");
    assert_eq!(model.requests()[0].json().unwrap()["model"], "only-one");
    let (ran, model) = ask(&["small", "large"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("small, large") && ran.err.contains("--model"),
        "{}",
        ran.err
    );
    assert!(model.requests().is_empty());
    let (ran, _) = ask(&[]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no model"), "{}", ran.err);
}

#[test]
fn a_key_that_a_server_repeats_is_not_shown() {
    const KEY: &str = "sk-secret-0815-4711";
    let asks = |models: &[&str]| {
        let model = Model::with_models(models, [model::text("Hi.", 1)]);
        let mut command = program();
        command.args(["chat", "--forget", "--base-url", &model.url()]);
        command.env("OPENAI_API_KEY", KEY);
        Ran::of(&mut command, "hello\n")
    };
    for models in [&["x sk-secret-0815-4711", "a", "b"][..], &[KEY]] {
        let ran = asks(models);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(!ran.err.contains(KEY) && !ran.out.contains(KEY), "{ran:?}");
    }
}

#[test]
fn a_signal_ends_a_piped_chat_during_a_turn() {
    use std::io::Write as _;
    let model = Model::plays([crate::model::says_and_hangs("Something ")]);
    let home = Folder::new();
    let mut child = piped(&model, &home, &[]).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"talk\n").unwrap();
    // Its answer has begun, and does not end.
    while model.requests().is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it goes on");
        std::thread::yield_now();
    }
    let kill = crate::program::command("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn only_the_last_exchanges_are_sent_with_last() {
    let model = Model::plays(["1.", "2.", "3."].map(|text| model::text(text, 1)));
    let ran = run_piped(
        &model,
        &Folder::new(),
        &["--last", "1"],
        "one\ntwo\nthree\n",
    );
    assert_eq!(ran.out, "1.\n2.\n3.\n");
    let messages: Vec<_> = model
        .messages(2)
        .iter()
        .skip(1)
        .map(|item| item["content"].clone())
        .collect();
    assert_eq!(messages, ["two", "2.", "three"]);
}

#[test]
fn results_of_concurrent_calls_name_their_tool() {
    let home = Folder::new();
    // Neither ends before both have begun.
    let tool = |own: &str, other: &str| {
        let (mine, theirs) = (home.file(own), home.file(other));
        let (mine, theirs) = (mine.display(), theirs.display());
        let script = format!(
            "touch '{mine}'; until [ -e '{theirs}' ]; do sleep 0.01; done; echo it is {own}"
        );
        serde_json::json!({
            "name": own, "description": "Waits for the other.",
            "parameters": { "type": "object", "properties": {} },
            "command": ["sh", "-c", script], "effects": "read_only",
        })
    };
    let tools = serde_json::json!([tool("one", "two"), tool("two", "one")]);
    let tools = home.write("tools.json", &tools.to_string());
    let model = Model::plays([
        model::calls([("call_1", "one", "{}"), ("call_2", "two", "{}")]),
        model::text("Done.", 1),
    ]);
    let ran = run_piped(&model, &home, &["--tools", &tools], "both\n");
    assert!(
        ran.err.contains("← one: it is one") || ran.err.contains("← two: it is two"),
        "{}",
        ran.err
    );
    assert_eq!(ran.err.matches("→ ").count(), 2, "{}", ran.err);
}

#[test]
fn an_endless_line_is_refused() {
    let model = Model::plays([model::text("Never said.", 1)]);
    let home = Folder::new();
    let output = piped(&model, &home, &[])
        .stdin(std::fs::File::open("/dev/zero").unwrap())
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("longer than 16 MiB"), "{err}");
    assert!(model.requests().is_empty());
}
