//! `turnwright tools`: lists, describes, calls and fuzzes tools.

pub(crate) mod call;
mod fuzz;

use serde_json::{Value, json};
use turnwright::Tool;

use crate::args::{self, Sources};
use crate::exit::{Exit, misuse};
use crate::extensions::Extensions;
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, fit, one_line, plain, with_fields};
use crate::text;
use crate::toolbox::{self, Builtin};

pub(crate) async fn run(
    options: args::Tools,
    extensions: Extensions,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let gather = |sources: &Sources| {
        let builtin = extensions.builtin_tools.then_some(Builtin {
            folder: &sources.folder,
            fetch: true,
        });
        toolbox::gather(builtin, extensions.tools, &sources.tool_files.files)
    };
    match options {
        args::Tools::List(options) => list(&gather(&options)?, &mut screen),
        args::Tools::Describe(options) => {
            let tools = gather(&options.sources)?;
            describe(named(&tools, &options.name)?, &mut screen)
        }
        args::Tools::Call(options) => {
            let tools = gather(&options.sources)?;
            let tool = named(&tools, &options.name)?;
            call::run(tool, &options.call, extensions.settings, screen).await
        }
        args::Tools::Fuzz(options) => fuzz::run(&gather(&options.sources)?, &options, &mut screen),
        args::Tools::Id(options) => checksum(&options, &mut screen),
    }
}

/// The effects of a tool in one word.
fn effects(tool: &Tool) -> &'static str {
    match tool.effects() {
        turnwright::Effects::ReadOnly => "reads",
        _ => "writes",
    }
}

/// The same in its style and with this width.
pub(crate) fn effects_painted(tool: &Tool, width: usize) -> String {
    let effects = effects(tool);
    let style = match effects {
        "reads" => style::DIM,
        _ => style::WARN,
    };
    paint(style, format_args!("{effects:width$}"))
}

/// The properties of a tool for `--json`.
pub(crate) fn facts(tool: &Tool) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.description(),
        "effects": tool.effects(),
        "timeoutSecs": tool.timeout().map(|timeout| timeout.as_secs_f64()),
        "kind": tool.artifact_kind(),
        "trusted": tool.is_trusted(),
        "source": tool.source(),
        "readsPrivate": tool.reads_private(),
        "sendsOut": tool.sends_out(),
        "fingerprint": tool.fingerprint(),
    })
}

/// The tool of this name.
pub(crate) fn named<'t>(tools: &'t [Tool], name: &str) -> anyhow::Result<&'t Tool> {
    tools
        .iter()
        .find(|tool| tool.name() == name)
        .ok_or_else(|| unknown(tools, name))
}

fn unknown(tools: &[Tool], name: &str) -> anyhow::Error {
    if tools.is_empty() {
        return misuse(format!(
            "no tool `{name}`: there are no tools. Add some with `--tools FILE`"
        ));
    }
    let names: Vec<&str> = tools.iter().map(Tool::name).collect();
    let all = names.join(", ");
    misuse(format!("no tool `{name}`. Available tools: {all}"))
}

fn list(tools: &[Tool], screen: &mut Screen) -> anyhow::Result<Exit> {
    let longest = tools
        .iter()
        .map(|tool| tool.name().len())
        .max()
        .unwrap_or(0);
    let columns = screen.columns();
    for tool in tools {
        screen.value(&facts(tool))?;
        let does = effects_painted(tool, 6);
        let room = columns.saturating_sub(longest + 10).max(8);
        let about = fit(&one_line(first_sentence(tool.description()), 1_000), room);
        let name = paint(style::NAME, format_args!("{:longest$}", tool.name()));
        screen.line(format_args!("{name}  {does}  {about}"))?;
    }
    Ok(Exit::Done)
}

/// The first sentence: up to a full stop that is followed by white space.
fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let end = text.match_indices(". ").map(|(at, _)| at).next();
    let end = end.or_else(|| text.find(['\n']));
    let sentence = end.and_then(|end| text.get(..end)).unwrap_or(text);
    sentence.trim_end_matches('.')
}

fn describe(tool: &Tool, screen: &mut Screen) -> anyhow::Result<Exit> {
    let shown = tool.describe();
    let schema = json!({ "inputSchema": shown.input_schema });
    screen.value(&with_fields(facts(tool), schema))?;
    screen.painted(style::NAME, shown.name)?;
    let description = plain(shown.description);
    screen.paragraph(anstyle::Style::new(), "", &description)?;
    screen.line("")?;
    let time = match tool.timeout() {
        Some(timeout) => format!("{} s", timeout.as_secs_f64()),
        None => "none".to_owned(),
    };
    let trusted = if tool.is_trusted() {
        "trusted"
    } else {
        "not trusted"
    };
    let kind = tool.artifact_kind();
    let mut flow = vec![effects(tool)];
    flow.extend(tool.reads_private().then_some("reads private data"));
    flow.extend(tool.sends_out().then_some("sends data out"));
    for (what, is) in [
        ("effects", flow.join(", ")),
        ("timeout", time),
        ("result", format!("{kind}, {trusted}")),
        ("fingerprint", tool.fingerprint().to_owned()),
    ] {
        screen.line(format_args!(
            "{} {is}",
            paint(style::DIM, format_args!("{what:11}"))
        ))?;
    }
    screen.line("")?;
    screen.painted(style::DIM, "input schema, as the model sees it")?;
    let document = serde_json::to_string_pretty(shown.input_schema)?;
    screen.line(plain(&document))?;
    Ok(Exit::Done)
}

fn checksum(options: &args::ToolsId, screen: &mut Screen) -> anyhow::Result<Exit> {
    let arguments = text::given(&options.arguments, text::ARGUMENTS)?;
    let id = turnwright::call::checksum(&options.name, arguments);
    screen.value(&json!({ "name": options.name, "checksum": id }))?;
    screen.line(id)?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_sentence_is_shown() {
        assert_eq!(first_sentence("Adds. Well."), "Adds");
        assert_eq!(first_sentence("Knows 3.14 and v1.2"), "Knows 3.14 and v1.2");
        assert_eq!(first_sentence("One line\nand more"), "One line");
    }
}
