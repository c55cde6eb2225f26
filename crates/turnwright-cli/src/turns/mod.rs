//! `turnwright turns`: stored turns.

mod answer;
mod damaged;
mod decision;
mod delete;
mod export;
mod find;
mod list;
mod resume;
mod resume_check;
mod show;
mod summary;

use crate::args;
use crate::exit::Exit;
use crate::extensions::Extensions;
use crate::terminal::Screen;

pub(crate) use resume_check::{IfHeld, check, command, wait_until_free};
pub(crate) use summary::{TurnSummary, last_turn};

pub(crate) async fn run(
    options: args::Turns,
    extensions: Extensions,
    screen: Screen,
) -> anyhow::Result<Exit> {
    match options {
        args::Turns::List(options) => list::run(&options, screen).await,
        args::Turns::Show(options) => show::run(&options, screen).await,
        args::Turns::Resume(options) => resume::run(options, extensions, screen).await,
        args::Turns::Answer(options) => answer::run(&options, screen).await,
        args::Turns::Export(options) => export::run(&options, screen).await,
        args::Turns::Delete(options) => delete::run(&options, screen).await,
    }
}
