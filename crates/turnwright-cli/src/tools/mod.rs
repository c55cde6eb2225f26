//! `turnwright tools`: a look at tools, and calls as a model makes them.

mod call;
mod describe;
mod fuzz;
mod id;
mod list;
mod which;

use serde_json::{Map, Value, json};
use turnwright::Tool;

use crate::args::{self, Sources};
use crate::exit::Exit;
use crate::own::Own;
use crate::terminal::Screen;
use crate::toolbox;

pub(crate) async fn run(told: args::Tools, own: Own, mut screen: Screen) -> anyhow::Result<Exit> {
    match told {
        args::Tools::List(told) => list::run(&gather(&told.where_from, own.tools)?, &mut screen),
        args::Tools::Describe(told) => {
            let tools = gather(&told.where_from, own.tools)?;
            describe::run(which::named(&tools, &told.name)?, &mut screen)
        }
        args::Tools::Call(told) => {
            let tools = gather(&told.where_from, own.tools)?;
            let tool = which::named(&tools, &told.name)?;
            call::run(tool, &told, own.settings, screen).await
        }
        args::Tools::Fuzz(told) => {
            fuzz::run(&gather(&told.where_from, own.tools)?, &told, &mut screen)
        }
        args::Tools::Id(told) => id::run(&told, &mut screen),
    }
}

fn gather(where_from: &Sources, own: Vec<Tool>) -> anyhow::Result<Vec<Tool>> {
    toolbox::gather(&where_from.folder, true, own, &where_from.own.files)
}

/// What a tool may do, in a word.
fn effects(tool: &Tool) -> &'static str {
    match tool.effects() {
        turnwright::Effects::ReadOnly => "reads",
        _ => "writes",
    }
}

/// What is known of a tool, for machines.
fn facts(tool: &Tool) -> Map<String, Value> {
    let facts = [
        ("name", json!(tool.name())),
        ("description", json!(tool.description())),
        ("effects", json!(tool.effects())),
        (
            "timeoutSecs",
            json!(tool.timeout().map(|timeout| timeout.as_secs_f64())),
        ),
        ("kind", json!(tool.artifact_kind())),
        ("trusted", json!(tool.is_trusted())),
        ("fingerprint", json!(tool.fingerprint())),
    ];
    facts
        .into_iter()
        .map(|(name, fact)| (name.to_owned(), fact))
        .collect()
}
