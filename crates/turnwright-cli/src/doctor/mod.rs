//! `turnwright doctor`: checks what an agent needs.

mod compiler;
mod model;
mod report;
mod store;
mod terminal;

use crate::args;
use crate::exit::Exit;
use crate::terminal::Screen;
pub(crate) use report::{Check, Status, print};

/// Runs all checks. `own_model`: the program has an executor, so that no server is needed.
pub(crate) async fn run(
    options: args::Doctor,
    own_model: bool,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    screen.busy("checking the compilers");
    let mut checks = vec![compiler::rust().await, compiler::c().await];
    if own_model {
        checks.push(Check::ok("model", "the program has its own model"))
    } else {
        screen.busy("checking the model server");
        checks.extend(model::checks(&options).await);
    }
    screen.busy("checking the store");
    checks.push(store::check(&options.storage).await);
    checks.push(terminal::check());
    print(&checks, &mut screen)?;
    let failed = checks.iter().any(|check| check.status == Status::Fail);
    Ok(if failed { Exit::No } else { Exit::Done })
}
