//! Chats with servers that are labelled, or have many tools.

use serde_json::{Value, json};
use turnwright_testkit::server::model::{self, Reply};

use super::at_a_terminal::chat;
use crate::chat::{PROMPT, piped};
use crate::mcp_server::{Setup, definition};
use crate::model::Model;
use crate::program::{Ran, run};

/// A pinned configuration with these fields and tools.
fn pinned(fields: &Value, tools: &Value) -> Setup {
    let setup = Setup::new();
    setup.configure(fields);
    setup.define(tools);
    let ran = setup.run(&["mcp", "pin", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    setup.folder.write("secret.txt", "the code is 1234\n");
    setup
}

/// A chat with one line of input, without a terminal.
fn chat_once(setup: &Setup, model: &Model, options: &[&str]) -> Ran {
    let options = [&["--forget", "--mcp", ".mcp.json"], options].concat();
    let mut command = piped(model, &setup.home, &options);
    Ran::of(command.current_dir(setup.folder.path()), "Go.\n")
}

/// The names of the tools in a request.
fn tools(model: &Model, request: usize) -> Vec<String> {
    let body = model.requests()[request].json().unwrap();
    let tools = body["tools"].as_array().unwrap().clone();
    let name = |tool: Value| tool["function"]["name"].as_str().unwrap().to_owned();
    tools.into_iter().map(name).collect()
}

fn call(tool: &str, args: &Value) -> Reply {
    let args = args.to_string();
    model::calls([(&*format!("call_{tool}"), tool, &*args)])
}

#[test]
fn many_tools_are_searched_for() {
    let mut many: Vec<Value> = (0..80)
        .map(|number| definition(&format!("task_{number}"), &"Does a task. ".repeat(40)))
        .collect();
    many.push(definition("read_weather", "Returns the weather forecast."));
    let setup = pinned(&json!({ "believeAnnotations": true }), &json!(many));
    let script = || {
        [
            call("find_tools", &json!({ "query": "weather forecast" })),
            call("files__read_weather", &json!({ "text": "Bern" })),
            model::text("It rains.", 1),
        ]
    };
    let model = Model::plays(script());
    let ran = chat_once(&setup, &model, &[]);
    assert_eq!(ran.out, "It rains.\n", "{ran:?}");
    let first = tools(&model, 0);
    assert!(
        first.contains(&"find_tools".to_owned()) && first.contains(&"read_file".to_owned()),
        "{first:?}"
    );
    let of_server = |name: &&String| name.starts_with("files__");
    assert_eq!(first.iter().filter(of_server).count(), 0, "{first:?}");
    let second = tools(&model, 1);
    assert_eq!(second[..first.len()], first, "the list only grows");
    assert!(
        second.contains(&"files__read_weather".to_owned()),
        "{second:?}"
    );
    assert_eq!(setup.calls(), [json!({ "text": "Bern" })]);

    // Within the budget, the model sees all of them.
    let model = Model::plays([model::text("Hello.", 1)]);
    let ran = chat_once(&setup, &model, &["--tool-budget", "1000000"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let all = tools(&model, 0);
    assert_eq!(all.iter().filter(of_server).count(), 81);
    assert!(!all.contains(&"find_tools".to_owned()), "{all:?}");
}

/// A call that reads a private file, and one through which data can leave.
fn leak() -> [Reply; 3] {
    [
        call("read_file", &json!({ "path": "secret.txt" })),
        call("files__read_note", &json!({ "text": "1234" })),
        model::text("Done.", 1),
    ]
}

fn sends_out() -> Setup {
    let fields = json!({ "believeAnnotations": true, "sendsOut": true });
    pinned(
        &fields,
        &json!([definition("read_note", "Looks up a note on the web.")]),
    )
}

#[test]
fn without_a_person_private_data_do_not_leave() {
    let setup = sends_out();
    let harmless = call("files__read_note", &json!({ "text": "weather" }));
    let model = Model::plays([harmless, model::text("Done.", 1)]);
    assert_eq!(chat_once(&setup, &model, &[]).out, "Done.\n");
    assert_eq!(setup.calls().len(), 1, "nothing private is in the prompt");

    let model = Model::plays(leak());
    let ran = chat_once(&setup, &model, &[]);
    assert_eq!(ran.out, "Done.\n", "{ran:?}");
    assert_eq!(setup.calls().len(), 1, "it was not sent");
    let result = model.messages(2).pop().unwrap().to_string();
    assert!(result.contains("The call was not approved"), "{result}");

    let ran = chat_once(
        &setup,
        &Model::plays(leak()),
        &["--yes", "--no-exfiltration"],
    );
    assert_eq!(ran.out, "Done.\n", "{ran:?}");
    assert_eq!(setup.calls().len(), 1, "it is denied in any case");

    let ran = chat_once(&setup, &Model::plays(leak()), &["--yes"]);
    assert_eq!(ran.out, "Done.\n", "{ran:?}");
    assert_eq!(setup.calls().last(), Some(&json!({ "text": "1234" })));
}

#[test]
fn a_person_is_asked_before_private_data_can_leave() {
    let setup = sends_out();
    let model = Model::plays(leak());
    let mut terminal = chat(&setup, &model);
    terminal.wait_for_prompt(PROMPT);
    let question = "  files__read_note: yes, no, edit or show all?";
    terminal.line("Go.").wait_for_prompt(question);
    let shown = terminal.words();
    assert!(
        shown.contains(
            "data could leave: the prompt contains both text of third parties and private data"
        ),
        "{shown}"
    );
    terminal
        .line("no")
        .wait_for("Done.")
        .wait_for_prompt(PROMPT);
    assert!(setup.calls().is_empty());
    terminal.line("/quit");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn results_of_a_server_in_quarantine_are_not_shown_to_the_model() {
    let tools = json!([definition("read_note", "Reads a note.")]);
    for quarantine in [false, true] {
        let fields = json!({ "believeAnnotations": true, "quarantine": quarantine });
        let setup = pinned(&fields, &tools);
        let model = Model::plays([
            call("files__read_note", &json!({ "text": "milk" })),
            model::text("Done.", 1),
        ]);
        assert_eq!(chat_once(&setup, &model, &[]).out, "Done.\n");
        assert_eq!(setup.calls().len(), 1);
        let result = model.messages(1).pop().unwrap().to_string();
        assert_eq!(result.contains("noted: milk"), !quarantine, "{result}");
    }
}

#[test]
fn labels_are_listed() {
    let setup = pinned(
        &json!({ "readsPrivate": true, "sendsOut": true }),
        &json!([definition("a", "b")]),
    );
    let listed = setup.run(&["mcp", "list", "--json"]).json();
    let tool = &listed[0]["tools"][0];
    assert_eq!(
        (&tool["readsPrivate"], &tool["sendsOut"]),
        (&json!(true), &json!(true))
    );

    let listed = run(&["tools", "list", "--json"]).json();
    let labelled = |label: &str| -> Vec<&str> {
        let tools = listed.iter().filter(|tool| tool[label] == true);
        tools.map(|tool| tool["name"].as_str().unwrap()).collect()
    };
    assert_eq!(
        labelled("readsPrivate"),
        ["list_files", "read_file", "search_files"]
    );
    assert_eq!(labelled("sendsOut"), ["fetch_url"]);
}
