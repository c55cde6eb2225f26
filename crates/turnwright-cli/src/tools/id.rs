//! `turnwright tools id`

use serde_json::json;

use crate::args::ToolsId;
use crate::exit::Exit;
use crate::terminal::Screen;
use crate::text;

pub(super) fn run(told: &ToolsId, screen: &mut Screen) -> anyhow::Result<Exit> {
    let arguments = text::given(&told.arguments, text::ARGUMENTS)?;
    let id = turnwright::call_id(&told.name, arguments);
    match screen.is_json() {
        true => screen.value(&json!({ "name": told.name, "callId": id }))?,
        false => screen.line(id)?,
    }
    Ok(Exit::Done)
}
