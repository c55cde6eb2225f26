//! `turnwright turns resume`, and the same within a chat.

use turnwright::prelude::*;
use turnwright::store::Scope;

use super::again::{LOOK, check, look, wait_until_free, waiting};
use super::seen::{Seen, in_scope};
use super::which::find;
use crate::agent::{Agent, kept_in};
use crate::args;
use crate::exit::{Exit, misuse};
use crate::kept::{About, Keeping, Place};
use crate::own::Own;
use crate::show::{Show, Shown};
use crate::terminal::{Consent, Editor, Screen, Signals, Told, one_line, plain, style};

pub(super) async fn run(
    told: args::TurnsResume,
    own: Own,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let place = Place::of(&told.kept)?;
    let Some(keeping) = Keeping::open_existing(place).await? else {
        return Err(misuse(
            "nothing is kept yet, so there is no turn to take up",
        ));
    };
    let seen = find(&keeping, &told.turn).await?;
    let attended = screen.is_attended();
    if !seen.is_resumable() {
        return ended(&keeping, &seen, screen).await;
    }
    let work = async {
        let helps = "`--wait` waits for that";
        wait_until_free(&keeping, &seen.scope, None, told.wait, helps, &mut screen).await?;
        // Whoever had it may have brought it further.
        let seen = find(&keeping, seen.id()).await?;
        if !seen.is_resumable() {
            return Ok((seen, None));
        }
        let about = About::of(&keeping, &seen.scope).await?;
        let missing = about.as_ref().map(|about| {
            match told.agent.own.files.is_empty() && keeping.place.is_named() {
                true => about.tools.as_slice(),
                false => &[],
            }
        });
        check(&keeping, &seen, missing, &told.again, attended).await?;
        screen.busy("looking for the model");
        let agent = match own.model {
            Some(_) => told.agent,
            None => known(told.agent, about.as_ref(), &keeping, &told.again)?,
        };
        let (agent, runner) = Agent::find(agent, own, None).await?;
        check_server(&agent, about.as_ref())?;
        let cares = [agent.cares(), left_out(&agent, about.as_ref())].concat();
        anyhow::Ok((seen, Some((agent, runner, cares))))
    };
    let found = tokio::select! {
        found = work => found,
        told = signals.next() => {
            screen.rest();
            return Ok(match told {
                Told::Interrupt => Exit::Interrupted,
                Told::Terminate => Exit::Done,
            });
        }
    };
    screen.rest();
    drop(signals);
    let (seen, Some((agent, runner, cares))) = found? else {
        // It came to its end while another program had it.
        return ended(&keeping, &seen, screen).await;
    };
    let person = attended.then(|| Editor::open(None)).transpose()?;
    let consent = Consent::new(agent.told.yes, person).tell_model(told.again.tell_model);
    let screen = match attended {
        true => screen,
        false => screen.answers_alone(),
    };
    let mut show = Show::new(screen, consent);
    if attended {
        let (id, server) = (one_line(seen.id(), 64), agent.shown());
        show.screen.paragraph(style::BOLD, "", &server)?;
        let folder = agent.folder.display().to_string();
        let about = format!(
            "takes up turn {id} of conversation {} · reads below {}",
            one_line(seen.scope.as_str(), 80),
            plain(&folder)
        );
        show.screen.paragraph(style::DIM, "", &about)?;
    }
    if !show.screen.is_json() {
        for care in cares {
            show.screen.paragraph(style::CARE, "", &care)?;
        }
    }
    let runner = kept_in(runner, Some(&keeping)).await?;
    let shown = show
        .turn_again(&runner, seen.scope.as_str(), seen.id())
        .await?;
    // What was said is there already: only the tidying up could fail.
    let _ = keeping.close().await;
    Ok(exit(&shown))
}

/// Shows a turn that has ended for good: its answer, or why it cannot be resumed. That needs neither a model nor tools.
async fn ended(keeping: &Keeping, seen: &Seen, screen: Screen) -> anyhow::Result<Exit> {
    let unreachable = |_: DispatchContext| async {
        Err(BoxError::from("a turn that has ended does not ask a model"))
    };
    let runner = kept_in(turnwright::runner(unreachable), Some(keeping)).await?;
    let screen = match screen.is_attended() {
        true => screen,
        false => screen.answers_alone(),
    };
    let mut show = Show::new(screen, Consent::nobody());
    let shown = take_up(&mut show, &runner, seen).await?;
    let _ = keeping.close().await;
    Ok(exit(&shown))
}

fn exit(shown: &Shown) -> Exit {
    let said = !shown.outcome.text.trim().is_empty();
    let interrupted = shown.interrupted && !shown.terminated;
    match (interrupted, shown.outcome.is_answered() && said) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::No,
    }
}

/// Waits until the last owner of a conversation is known to be gone, if it is; one that lives is not waited for.
pub(crate) async fn wait_for_crashed(
    keeping: &Keeping,
    scope: &Scope,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let mut first = None;
    loop {
        let look = look(keeping, scope, None).await?;
        let renewed = *first.get_or_insert(look.renewals) != look.renewals;
        match look.left {
            Some(left) if !renewed => {
                screen.busy(&waiting(left));
                tokio::time::sleep(LOOK.min(left)).await;
            }
            _ => return Ok(()),
        }
    }
}

/// What was not told, as the conversation's chat had it. Whoever wrote a file that was named would learn by its server, its
/// folder and its task what is in the folder, and the key; and its tools are programs. So of such a file nothing of it counts.
fn known(
    mut told: args::Agent,
    about: Option<&About>,
    keeping: &Keeping,
    again: &args::Again,
) -> anyhow::Result<args::Agent> {
    let Some(about) = about.cloned() else {
        return Ok(told);
    };
    let strange = keeping.place.is_named();
    if told.base_url.is_none() {
        if strange || about.partial {
            let file = plain(&keeping.place.file().display().to_string()).into_owned();
            return Err(misuse(format!(
                "`{file}` says that this conversation was held with {}: if that is right, say so with `--base-url`",
                one_line(&about.server, 120)
            )));
        }
        told.base_url = Some(about.server);
    }
    told.model = told.model.or(Some(about.model));
    told.no_fetch |= about.no_fetch;
    if !strange {
        told.folder = told.folder.or(Some(about.folder));
        told.system = told.system.or(about.system);
        if told.own.files.is_empty() && !again.without_tools {
            told.own.files = about.tools;
        }
    }
    Ok(told)
}

/// What the chat had and the turn has not now.
fn left_out(agent: &Agent, about: Option<&About>) -> Vec<String> {
    let Some(had) = about else {
        return Vec::new();
    };
    let mut cares = Vec::new();
    if had.folder != agent.folder {
        let folder = one_line(&had.folder.display().to_string(), 200);
        cares.push(format!(
            "its chat could read below {folder}: `--folder` names it again"
        ));
    }
    let there = agent.about().tools;
    for file in had.tools.iter().filter(|file| !there.contains(file)) {
        let file = one_line(&file.display().to_string(), 200);
        cares.push(format!(
            "its chat had the tools of {file}: `--tools` names them again"
        ));
    }
    cares
}

/// What was said to one server is not sent to another unasked.
fn check_server(agent: &Agent, about: Option<&About>) -> anyhow::Result<()> {
    let server = agent.address();
    match about.map(|about| &about.server) {
        Some(before) if *before != server && !agent.told.switch_server => Err(misuse(format!(
            "this conversation was held with {}: all of it would be sent to {server}. If you want that, say `--switch-server`",
            one_line(before, 120)
        ))),
        _ => Ok(()),
    }
}

/// The last turn of a conversation, if it has one.
pub(crate) async fn last_of(keeping: &Keeping, scope: &Scope) -> anyhow::Result<Option<Seen>> {
    Ok(in_scope(keeping, scope).await?.pop())
}

/// Takes a turn up again.
pub(crate) async fn take_up(
    show: &mut Show,
    runner: &TurnRunner,
    seen: &Seen,
) -> anyhow::Result<Shown> {
    show.turn_again(runner, seen.scope.as_str(), seen.id())
        .await
}
