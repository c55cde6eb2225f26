//! `turnwright tools describe`

use turnwright::Tool;

use super::{effects, facts};
use crate::exit::Exit;
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, plain};

pub(super) fn run(tool: &Tool, screen: &mut Screen) -> anyhow::Result<Exit> {
    let shown = tool.describe();
    if screen.is_json() {
        let mut facts = facts(tool);
        facts.insert("inputSchema".to_owned(), shown.input_schema.clone());
        screen.value(&facts)?;
        return Ok(Exit::Done);
    }
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
