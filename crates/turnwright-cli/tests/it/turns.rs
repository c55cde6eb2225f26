//! `turnwright turns`.

mod answer;
mod crash;
mod delete;
mod export;
mod hostile;
mod list_and_show;
mod resume;
mod resume_checks;
mod unusable_files;

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use turnwright_testkit::server::model;

use crate::chat::{chat as start, run_piped, slow_tool};
use crate::folder::Folder;
use crate::model::{Model, Plays};
use crate::program::{Ran, program};
use crate::pty::{Launch, Terminal};
use crate::stored;

/// Long ago.
const PAST: &str = "2020-01-01T00:00:00.000000000Z";

/// The program's own database in this folder.
fn database(home: &Folder) -> PathBuf {
    home.file("conversations.db")
}

/// `turnwright turns`, which looks at what is kept in this folder.
fn command(home: &Folder, args: &[&str]) -> Command {
    let mut command = program();
    command
        .arg("turns")
        .args(args)
        .env("TURNWRIGHT_HOME", home.path());
    command
}

fn turns(home: &Folder, args: &[&str]) -> Ran {
    Ran::of(&mut command(home, args), "")
}

/// The same at a terminal.
fn at_terminal(home: &Folder, args: &[&str]) -> Terminal {
    let all = [&["turns"], args].concat();
    Launch::new(&all)
        .env("TURNWRIGHT_HOME", home.path())
        .window(40, 80)
        .start()
}

/// What `list` tells machines.
fn listed(home: &Folder, args: &[&str]) -> Vec<Value> {
    let ran = turns(home, &[&["list", "--json"], args].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.json()
}

/// The id of the newest turn.
fn newest(home: &Folder) -> String {
    listed(home, &[])[0]["turn"].as_str().unwrap().to_owned()
}

/// A chat that said these things and got these answers.
fn talked(home: &Folder, args: &[&str], exchanges: &[(&str, &str)]) -> Model {
    let model = Model::plays(exchanges.iter().map(|(_, answer)| model::text(*answer, 1)));
    let messages: String = exchanges
        .iter()
        .map(|(messages, _)| format!("{messages}\n"))
        .collect();
    let ran = run_piped(&model, home, args, &messages);
    assert_eq!(ran.code, 0, "{ran:?}");
    model
}

/// A chat that was killed while a tool ran that may change something; the model goes on with this once it is asked again.
fn cut_off(home: &Folder, then: impl IntoIterator<Item = Plays>) -> Model {
    let call = model::calls([("call_1", "linger", "{}")]);
    let model = Model::plays([Plays::from(call)].into_iter().chain(then));
    let (tools, begun) = slow_tool(home);
    let mut terminal = start(&model, home, &["--yes", "--tools", &tools]);
    terminal.line("tidy up, please").wait_for("running linger");
    terminal.wait_until("the tool", |_| begun.exists());
    terminal.kill();
    model
}

/// As if the time had passed after which others may go on.
fn let_go(home: &Folder) {
    stored::hold_until(&database(home), "default", PAST, 1);
}
