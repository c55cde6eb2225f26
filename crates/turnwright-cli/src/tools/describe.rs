//! `turnwright tools describe`

use serde_json::json;
use turnwright::Tool;

use super::effects;
use crate::exit::Exit;
use crate::terminal::style::{self, paint};
use crate::terminal::{Flow, Screen, plain};

pub(super) fn run(tool: &Tool, screen: &mut Screen) -> anyhow::Result<Exit> {
    let shown = tool.describe();
    if screen.is_json() {
        screen.value(&json!({
            "name": shown.name,
            "description": shown.description,
            "inputSchema": shown.input_schema,
            "effects": tool.effects(),
            "timeoutSecs": tool.timeout().map(|timeout| timeout.as_secs_f64()),
            "kind": tool.artifact_kind(),
            "trusted": tool.is_trusted(),
            "fingerprint": tool.fingerprint(),
        }))?;
        return Ok(Exit::Done);
    }
    screen.line(paint(style::NAME, shown.name))?;
    let mut flow = Flow::new(screen.width(), "");
    let mut text = flow.push(&plain(shown.description));
    text.push_str(&flow.end());
    screen.line(text)?;
    screen.line("")?;
    let time = match tool.timeout() {
        Some(timeout) => format!("at most {} s", timeout.as_secs_f64()),
        None => "as long as it takes".to_owned(),
    };
    let vouched = match tool.is_trusted() {
        true => "vouched for",
        false => "not vouched for",
    };
    let kind = tool.artifact_kind();
    for (what, is) in [
        ("effects", effects(tool).to_owned()),
        ("time", time),
        ("result", format!("{kind}, {vouched}")),
        ("fingerprint", tool.fingerprint().to_owned()),
    ] {
        screen.line(format_args!(
            "{} {is}",
            paint(style::DIM, format_args!("{what:11}"))
        ))?;
    }
    screen.line("")?;
    screen.line(paint(style::DIM, "input schema, as a model is shown it"))?;
    let document = serde_json::to_string_pretty(shown.input_schema)?;
    screen.line(plain(&document))?;
    Ok(Exit::Done)
}
