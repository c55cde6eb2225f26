//! `turnwright turns resume`, and the same within a chat.

use turnwright::prelude::*;
use turnwright::store::ConversationId;

use super::find::find;
use super::resume_check::{IfHeld, check, wait_until_free};
use super::summary::{TurnSummary, in_scope};
use crate::agent::{Agent, with_storage};
use crate::args;
use crate::exit::{Exit, misuse};
use crate::extensions::Extensions;
use crate::show::{Show, Shown};
use crate::storage::{ChatNote, Storage, StorageLocation, other_server};
use crate::terminal::{ApprovalPrompt, Editor, Screen, Signal, Signals, one_line, plain, style};

pub(super) async fn run(
    options: args::TurnsResume,
    extensions: Extensions,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let place = StorageLocation::of(&options.storage)?;
    let Some(storage) = Storage::open_existing(place).await? else {
        return Err(misuse(
            "nothing is kept yet, so there is no turn to take up",
        ));
    };
    let summary = find(&storage, &options.turn).await?;
    let attended = screen.is_attended();
    if !summary.is_resumable() {
        return ended(&storage, &summary, screen).await;
    }
    let work = async {
        let if_held = match options.wait {
            true => IfHeld::Wait,
            false => IfHeld::Fail("`--wait` waits for that"),
        };
        wait_until_free(
            &storage,
            &summary.conversation_id,
            None,
            if_held,
            &mut screen,
        )
        .await?;
        // Whoever had it may have brought it further.
        let summary = find(&storage, summary.id()).await?;
        if !summary.is_resumable() {
            return Ok((summary, None));
        }
        let chat_note = ChatNote::of(&storage, &summary.conversation_id).await?;
        let missing = chat_note.as_ref().map(|chat_note| {
            match options.agent.tool_files.files.is_empty() && storage.place.is_named() {
                true => chat_note.tools.as_slice(),
                false => &[],
            }
        });
        check(&storage, &summary, missing, &options.again, attended).await?;
        screen.busy("looking for the model");
        let agent = match extensions.model {
            Some(_) => options.agent,
            None => known(options.agent, chat_note.as_ref(), &storage, &options.again)?,
        };
        let (agent, runner) = Agent::find(agent, extensions, None).await?;
        check_server(&agent, chat_note.as_ref())?;
        let cares = [agent.cares(), left_out(&agent, chat_note.as_ref())].concat();
        anyhow::Ok((summary, Some((agent, runner, cares))))
    };
    let found = tokio::select! {
        found = work => found,
        signal = signals.next() => {
            screen.rest();
            return Ok(match signal {
                Signal::Interrupt => Exit::Interrupted,
                Signal::Terminate => Exit::Done,
            });
        }
    };
    screen.rest();
    drop(signals);
    let (summary, Some((agent, runner, cares))) = found? else {
        // It came to its end while another program had it.
        return ended(&storage, &summary, screen).await;
    };
    let person = attended.then(|| Editor::open(None)).transpose()?;
    let approval_prompt =
        ApprovalPrompt::new(agent.options.yes, person).tell_model(options.again.tell_model);
    let screen = match attended {
        true => screen,
        false => screen.answers_alone(),
    };
    let mut show = Show::new(screen, approval_prompt);
    if attended {
        let (id, server) = (one_line(summary.id(), 64), agent.shown());
        show.screen.paragraph(style::BOLD, "", &server)?;
        let folder = agent.folder.display().to_string();
        let header = format!(
            "takes up turn {id} of conversation {} · reads below {}",
            one_line(summary.conversation_id.as_str(), 80),
            plain(&folder)
        );
        show.screen.paragraph(style::DIM, "", &header)?;
    }
    if !show.screen.is_json() {
        for care in cares {
            show.screen.paragraph(style::CARE, "", &care)?;
        }
    }
    let runner = with_storage(runner, Some(&storage)).await?;
    let shown = show
        .turn_again(&runner, summary.conversation_id.as_str(), summary.id())
        .await?;
    // What was said is there already: only the tidying up could fail.
    let _ = storage.close().await;
    Ok(exit(&shown))
}

/// Shows a turn that has ended for good: its answer, or why it cannot be resumed. That needs neither a model nor tools.
async fn ended(storage: &Storage, summary: &TurnSummary, screen: Screen) -> anyhow::Result<Exit> {
    let unreachable = |_: DispatchContext| async {
        Err(BoxError::from("a turn that has ended does not ask a model"))
    };
    let runner = with_storage(turnwright::runner(unreachable), Some(storage)).await?;
    let screen = match screen.is_attended() {
        true => screen,
        false => screen.answers_alone(),
    };
    let mut show = Show::new(screen, ApprovalPrompt::nobody());
    let shown = take_up(&mut show, &runner, summary).await?;
    let _ = storage.close().await;
    Ok(exit(&shown))
}

fn exit(shown: &Shown) -> Exit {
    let has_text = !shown.outcome.text.trim().is_empty();
    let interrupted = shown.interrupted && !shown.terminated;
    match (interrupted, shown.outcome.is_answered() && has_text) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::No,
    }
}

/// What was not told, as the conversation's chat had it. Whoever wrote a file that was named would learn by its server, its
/// folder and its task what is in the folder, and the key; and its tools are programs. So of such a file nothing of it counts.
fn known(
    mut options: args::Agent,
    chat_note: Option<&ChatNote>,
    storage: &Storage,
    again: &args::ResumeOptions,
) -> anyhow::Result<args::Agent> {
    let Some(chat_note) = chat_note.cloned() else {
        return Ok(options);
    };
    let strange = storage.place.is_named();
    if options.base_url.is_none() {
        if strange || chat_note.partial {
            let file = plain(&storage.place.file().display().to_string()).into_owned();
            return Err(misuse(format!(
                "`{file}` says that this conversation was held with {}: if that is right, say so with `--base-url`",
                one_line(&chat_note.server, 120)
            )));
        }
        options.base_url = Some(chat_note.server);
    }
    options.model = options.model.or(Some(chat_note.model));
    options.no_fetch |= chat_note.no_fetch;
    if !strange {
        options.folder = options.folder.or(Some(chat_note.folder));
        options.system = options.system.or(chat_note.system);
        if options.tool_files.files.is_empty() && !again.without_tools {
            options.tool_files.files = chat_note.tools;
        }
    }
    Ok(options)
}

/// What the chat had and the turn has not now.
fn left_out(agent: &Agent, chat_note: Option<&ChatNote>) -> Vec<String> {
    let Some(had) = chat_note else {
        return Vec::new();
    };
    let mut cares = Vec::new();
    if had.folder != agent.folder {
        let folder = one_line(&had.folder.display().to_string(), 200);
        cares.push(format!(
            "its chat could read below {folder}: `--folder` names it again"
        ));
    }
    let there = agent.chat_note().tools;
    for file in had.tools.iter().filter(|file| !there.contains(file)) {
        let file = one_line(&file.display().to_string(), 200);
        cares.push(format!(
            "its chat had the tools of {file}: `--tools` names them again"
        ));
    }
    cares
}

/// What was said to one server is not sent to another unasked.
fn check_server(agent: &Agent, chat_note: Option<&ChatNote>) -> anyhow::Result<()> {
    let server = agent.address();
    match chat_note.map(|chat_note| &chat_note.server) {
        Some(before) if *before != server && !agent.options.switch_server => {
            let held = format!("was held with {}", one_line(before, 120));
            Err(other_server(&held, &server, ""))
        }
        _ => Ok(()),
    }
}

/// The last turn of a conversation, if it has one.
pub(crate) async fn last_of(
    storage: &Storage,
    conversation_id: &ConversationId,
) -> anyhow::Result<Option<TurnSummary>> {
    Ok(in_scope(storage, conversation_id).await?.pop())
}

/// Takes a turn up again.
pub(crate) async fn take_up(
    show: &mut Show,
    runner: &TurnRunner,
    summary: &TurnSummary,
) -> anyhow::Result<Shown> {
    show.turn_again(runner, summary.conversation_id.as_str(), summary.id())
        .await
}
