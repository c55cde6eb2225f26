//! `turnwright chat`, with and without a terminal, against a model server on loopback.

mod keeping;
mod pipe;
mod prompt;
mod questions;
mod turns;

use std::process::{Command, Stdio};
use turnwright_testkit::server::chat::Reply;

use serde_json::json;

use crate::folder::Folder;
use crate::model::Model;
use crate::program::{Ran, program};
use crate::pty::{Launch, Terminal};

/// Where it waits for somebody to say something.
pub(crate) const PROMPT: &str = "you ›";
/// Which conversation it is, unless a test says otherwise.
const NAME: &str = "default";
/// Where it waits for a yes or no.
pub(crate) const CONSENT: &str = "  write_note: yes, no, edit or see all?";

/// A chat of this server at a terminal, which keeps what is said in this folder.
pub(crate) fn launch(model: &Model, home: &Folder, args: &[&str]) -> Launch {
    let url = model.url();
    let mut all = vec!["chat", "--base-url", &url, "--model", "scripted"];
    all.extend(named(args));
    all.extend_from_slice(args);
    Launch::new(&all).env("TURNWRIGHT_HOME", home.path())
}

/// The same, started and waiting.
pub(crate) fn chat(model: &Model, home: &Folder, args: &[&str]) -> Terminal {
    let mut terminal = launch(model, home, args).start();
    terminal.wait_for_prompt(PROMPT);
    terminal
}

/// Which conversation it is, if the test does not say it.
fn named(args: &[&str]) -> &'static [&'static str] {
    match args.contains(&"--conversation") {
        true => &[],
        false => &["--conversation", NAME],
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

/// What comes of it with these lines.
pub(crate) fn run_piped(model: &Model, home: &Folder, args: &[&str], input: &str) -> Ran {
    Ran::of(&mut piped(model, home, args), input)
}

/// A file with a tool that changes something and takes its time about it: until the program ends, however it does. Once it
/// has begun there is a file, whose place comes second.
pub(crate) fn slow_tool(folder: &Folder) -> (String, std::path::PathBuf) {
    let (file, begun) = (folder.file("slow.json"), folder.file("begun"));
    let name = begun.display();
    // The id of its process, there at once and whole.
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

/// A file with a tool that changes something: it writes its arguments to a file, whose place comes second.
pub(crate) fn write_tool(folder: &Folder) -> (String, std::path::PathBuf) {
    write_tool_up_to(folder, 20)
}

/// The same, which takes so many signs.
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

/// A call of the tool that changes something.
pub(crate) fn note() -> Reply {
    turnwright_testkit::server::chat::calls([("call_1", "write_note", r#"{"text": "milk"}"#)])
}
