//! wire
use crate::exit::Exit;
use crate::terminal::Screen;

pub(crate) fn decode(told: &crate::args::WireDecode, screen: Screen) -> anyhow::Result<Exit> {
    let _ = (told, screen);
    Ok(Exit::Done)
}

pub(crate) async fn replay(told: crate::args::WireReplay, screen: Screen) -> anyhow::Result<Exit> {
    let _ = (told, screen);
    Ok(Exit::Done)
}
