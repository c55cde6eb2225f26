//! `turnwright tools`: a look at tools, and calls as a model makes them.

mod call;
mod describe;
mod find;
mod fuzz;
mod id;
mod list;

use serde_json::{Map, Value, json};
use turnwright::{Error, Tool};

use crate::args::{self, Sources};
use crate::exit::Exit;
use crate::extensions::Extensions;
use crate::terminal::Screen;
use crate::toolbox;

pub(crate) async fn run(
    options: args::Tools,
    extensions: Extensions,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    match options {
        args::Tools::List(options) => list::run(&gather(&options, extensions.tools)?, &mut screen),
        args::Tools::Describe(options) => {
            let tools = gather(&options.where_from, extensions.tools)?;
            describe::run(find::named(&tools, &options.name)?, &mut screen)
        }
        args::Tools::Call(options) => {
            let tools = gather(&options.where_from, extensions.tools)?;
            let tool = find::named(&tools, &options.name)?;
            call::run(tool, &options, extensions.settings, screen).await
        }
        args::Tools::Fuzz(options) => fuzz::run(
            &gather(&options.where_from, extensions.tools)?,
            &options,
            &mut screen,
        ),
        args::Tools::Id(options) => id::run(&options, &mut screen),
    }
}

fn gather(where_from: &Sources, extensions: Vec<Result<Tool, Error>>) -> anyhow::Result<Vec<Tool>> {
    toolbox::gather(
        &where_from.folder,
        true,
        extensions,
        &where_from.tool_files.files,
    )
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
    let timeout = tool.timeout().map(|timeout| timeout.as_secs_f64());
    let facts = [
        ("name", json!(tool.name())),
        ("description", json!(tool.description())),
        ("effects", json!(tool.effects())),
        ("timeoutSecs", json!(timeout)),
        ("kind", json!(tool.artifact_kind())),
        ("trusted", json!(tool.is_trusted())),
        ("fingerprint", json!(tool.fingerprint())),
    ];
    facts
        .into_iter()
        .map(|(name, fact)| (name.to_owned(), fact))
        .collect()
}
