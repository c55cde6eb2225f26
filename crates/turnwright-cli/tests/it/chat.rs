//! `turnwright chat`, with and without a terminal, against a model server on loopback.

mod markdown;
mod persistence;
mod pipe;
mod prompt;
mod questions;
mod turns;

use std::process::{Command, Stdio};
use turnwright_testkit::server::model::Reply;

use serde_json::json;

use crate::folder::Folder;
use crate::model::Model;
use crate::program::{Ran, program};
use crate::pty::{Launch, Terminal};

/// The prompt for a message.
pub(crate) const PROMPT: &str = "you ›";
/// The default conversation of the tests.
const NAME: &str = "default";
/// The prompt for an approval.
pub(crate) const CONSENT: &str = "  write_note: yes, no, edit or show all?";

/// A chat with this server at a terminal, with this data directory.
pub(crate) fn launch(model: &Model, home: &Folder, args: &[&str]) -> Launch {
    let url = model.url();
    let mut all = vec!["chat", "--base-url", &url, "--model", "scripted"];
    all.extend(named(args));
    all.extend_from_slice(args);
    Launch::new(&all).env("TURNWRIGHT_HOME", home.path())
}

/// The same, started and waiting for input.
pub(crate) fn chat(model: &Model, home: &Folder, args: &[&str]) -> Terminal {
    let mut terminal = launch(model, home, args).start();
    terminal.wait_for_prompt(PROMPT);
    terminal
}

/// The option for the default conversation, unless the test has one.
fn named(args: &[&str]) -> &'static [&'static str] {
    if args.contains(&"--conversation") {
        &[]
    } else {
        &["--conversation", NAME]
    }
}

/// A chat without a terminal.
pub(crate) fn piped(model: &Model, home: &Folder, args: &[&str]) -> Command {
    let mut command = program();
    command
        .args(["chat", "--base-url", &model.url(), "--model", "scripted"])
        .args(named(args))
        .args(args)
        .env("TURNWRIGHT_HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs it with these lines as input.
pub(crate) fn run_piped(model: &Model, home: &Folder, args: &[&str], input: &str) -> Ran {
    Ran::of(&mut piped(model, home, args), input)
}

/// A tools file with a tool that writes and does not end by itself, and the path of a file that exists once it has started.
pub(crate) fn slow_tool(folder: &Folder) -> (String, std::path::PathBuf) {
    let (file, begun) = (folder.file("slow.json"), folder.file("begun"));
    let name = begun.display();
    // The id of its process. The file appears atomically.
    let command = format!("echo $$ > '{name}.new'; mv '{name}.new' '{name}'; exec sleep 600");
    let tools = json!([{
        "name": "linger",
        "description": "Takes its time.",
        "parameters": { "type": "object", "properties": {} },
        "command": ["sh", "-c", command],
        "effects": "writes",
    }]);
    std::fs::write(&file, tools.to_string()).unwrap();
    (file.to_str().unwrap().to_owned(), begun)
}

/// A tools file with a tool that writes its arguments to a file, and the path of that file.
pub(crate) fn write_tool(folder: &Folder) -> (String, std::path::PathBuf) {
    write_tool_up_to(folder, 20)
}

/// The same, with a limit on the length of the text.
fn write_tool_up_to(folder: &Folder, most: u32) -> (String, std::path::PathBuf) {
    let (file, written) = (folder.file("tools.json"), folder.file("written"));
    let tools = json!([{
        "name": "write_note",
        "description": "Writes a note.",
        "parameters": {
            "type": "object", "additionalProperties": false,
            "properties": { "text": { "type": "string", "maxLength": most } }, "required": ["text"],
        },
        "command": ["sh", "-c", format!("cat > '{}'; echo it is written", written.display())],
        "effects": "writes",
    }]);
    std::fs::write(&file, tools.to_string()).unwrap();
    (file.to_str().unwrap().to_owned(), written)
}

/// A call of the tool that writes.
pub(crate) fn note() -> Reply {
    turnwright_testkit::server::model::calls([("call_1", "write_note", r#"{"text": "milk"}"#)])
}
