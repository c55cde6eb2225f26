//! `turnwright tools id`

use serde_json::json;

use crate::args::ToolsId;
use crate::exit::Exit;
use crate::terminal::Screen;
use crate::text;

pub(super) fn run(options: &ToolsId, screen: &mut Screen) -> anyhow::Result<Exit> {
    let arguments = text::given(&options.arguments, text::ARGUMENTS)?;
    let id = turnwright::call::checksum(&options.name, arguments);
    if screen.is_json() {
        screen.value(&json!({ "name": options.name, "checksum": id }))?
    } else {
        screen.line(id)?
    }
    Ok(Exit::Done)
}
