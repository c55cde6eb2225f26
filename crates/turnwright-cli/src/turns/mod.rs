//! `turnwright turns`: what was kept, and what becomes of it.

mod again;
mod damaged;
mod delete;
mod export;
mod list;
mod measures;
mod resume;
mod seen;
mod show;
mod state;
mod which;

use crate::args;
use crate::exit::Exit;
use crate::own::Own;
use crate::terminal::Screen;

pub(crate) use again::{check, command};
pub(crate) use measures::{Bytes, Span};
pub(crate) use resume::{last_of, take_up, wait_for_crashed};
pub(crate) use seen::Seen;
pub(crate) use state::State;

pub(crate) async fn run(told: args::Turns, own: Own, screen: Screen) -> anyhow::Result<Exit> {
    match told {
        args::Turns::List(told) => list::run(&told, screen).await,
        args::Turns::Show(told) => show::run(&told, screen).await,
        args::Turns::Resume(told) => resume::run(told, own, screen).await,
        args::Turns::Export(told) => export::run(&told, screen).await,
        args::Turns::Delete(told) => delete::run(&told, screen).await,
    }
}
