//! tools

use crate::exit::Exit;
use crate::terminal::Screen;

pub(crate) async fn run(
    told: crate::args::Tools,
    own: Vec<turnwright::Tool>,
    screen: Screen,
) -> anyhow::Result<Exit> {
    let _ = (told, screen);
    Ok(Exit::Done)
}
