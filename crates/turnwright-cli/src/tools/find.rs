//! Finds a tool by name.

use turnwright::Tool;

use crate::exit::misuse;

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
