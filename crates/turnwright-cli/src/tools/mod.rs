//! `turnwright tools`: lists, describes, calls and fuzzes tools.

pub(crate) mod call;
mod describe;
pub(crate) mod find;
mod fuzz;
mod id;
mod list;

use serde_json::{Map, Value, json};
use turnwright::Tool;

use crate::args::{self, Sources};
use crate::exit::Exit;
use crate::extensions::Extensions;
use crate::terminal::Screen;
use crate::toolbox::{self, Builtin};

pub(crate) async fn run(
    options: args::Tools,
    extensions: Extensions,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let Extensions {
        builtin_tools,
        tools,
        settings,
        ..
    } = extensions;
    let gather = |sources: &Sources| {
        let builtin = if builtin_tools {
            Builtin::In {
                folder: &sources.folder,
                fetch: true,
            }
        } else {
            Builtin::None
        };
        toolbox::gather(builtin, tools, &sources.tool_files.files)
    };
    match options {
        args::Tools::List(options) => list::run(&gather(&options)?, &mut screen),
        args::Tools::Describe(options) => {
            let tools = gather(&options.sources)?;
            describe::run(find::named(&tools, &options.name)?, &mut screen)
        }
        args::Tools::Call(options) => {
            let tools = gather(&options.sources)?;
            let tool = find::named(&tools, &options.name)?;
            call::run(tool, &options.call, settings, screen).await
        }
        args::Tools::Fuzz(options) => fuzz::run(&gather(&options.sources)?, &options, &mut screen),
        args::Tools::Id(options) => id::run(&options, &mut screen),
    }
}

/// The effects of a tool in one word.
pub(crate) fn effects(tool: &Tool) -> &'static str {
    match tool.effects() {
        turnwright::Effects::ReadOnly => "reads",
        _ => "writes",
    }
}

/// The properties of a tool for `--json`.
pub(crate) fn facts(tool: &Tool) -> Map<String, Value> {
    let timeout = tool.timeout().map(|timeout| timeout.as_secs_f64());
    let facts = [
        ("name", json!(tool.name())),
        ("description", json!(tool.description())),
        ("effects", json!(tool.effects())),
        ("timeoutSecs", json!(timeout)),
        ("kind", json!(tool.artifact_kind())),
        ("trusted", json!(tool.is_trusted())),
        ("source", json!(tool.source())),
        ("readsPrivate", json!(tool.reads_private())),
        ("sendsOut", json!(tool.sends_out())),
        ("fingerprint", json!(tool.fingerprint())),
    ];
    facts
        .into_iter()
        .map(|(name, fact)| (name.to_owned(), fact))
        .collect()
}
