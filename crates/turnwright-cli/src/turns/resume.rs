//! `turnwright turns resume`, and the same within a chat.

use turnwright::prelude::*;

use super::find::find;
use super::resume_check::{IfHeld, check, wait_until_free};
use super::summary::TurnSummary;
use crate::agent::{Agent, with_storage};
use crate::args;
use crate::exit::{Exit, misuse};
use crate::extensions::Extensions;
use crate::show::Show;
use crate::storage::{ChatNote, Storage, other_server};
use crate::terminal::{ApprovalPrompt, Editor, Screen, Signals, one_line, plain, style};

pub(super) async fn run(
    options: args::TurnsResume,
    extensions: Extensions,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let storage = Storage::open_existing(&options.storage, "no turn to take up").await?;
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
        let conversation_id = &summary.conversation_id;
        wait_until_free(&storage, conversation_id, None, if_held, &mut screen).await?;
        // Whoever had it may have brought it further.
        let summary = find(&storage, summary.id()).await?;
        if !summary.is_resumable() {
            return Ok((summary, None));
        }
        ChatNote::move_from_memory(&storage, &summary.conversation_id).await?;
        let chat_note = ChatNote::of(&storage, &summary.conversation_id).await?;
        let missing = chat_note.as_ref().map(|chat_note| {
            match options.agent.tool_files.files.is_empty() && storage.place.named {
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
        let warnings = [agent.warnings(), left_out(&agent, chat_note.as_ref())].concat();
        anyhow::Ok((summary, Some((agent, runner, warnings))))
    };
    let found = tokio::select! {
        found = work => found,
        signal = signals.next() => {
            screen.rest();
            return Ok(signal.exit());
        }
    };
    screen.rest();
    drop(signals);
    let (summary, Some((agent, runner, warnings))) = found? else {
        // It came to its end while another program had it.
        return ended(&storage, &summary, screen).await;
    };
    let person = attended.then(|| Editor::open(None)).transpose()?;
    let approval_prompt =
        ApprovalPrompt::new(agent.options.yes, person).tell_model(options.again.tell_model);
    let mut show = Show::new(screen.answers_alone(), approval_prompt);
    if attended {
        show.screen.paragraph(style::BOLD, "", &agent.model.shown)?;
        show.screen.dim(format!(
            "takes up turn {} of conversation {} · reads below {}",
            one_line(summary.id(), 64),
            one_line(summary.conversation_id.as_str(), 80),
            plain(&agent.folder.display().to_string())
        ))?;
    }
    if !show.screen.is_json() {
        for warning in warnings {
            show.screen.warn(warning)?;
        }
    }
    let runner = with_storage(runner, Some(&storage)).await?;
    resume(show, &storage, &runner, &summary).await
}

/// Shows a turn that has ended for good: its answer, or why it cannot be resumed. That needs neither a model nor tools.
async fn ended(storage: &Storage, summary: &TurnSummary, screen: Screen) -> anyhow::Result<Exit> {
    let unreachable = |_: DispatchContext| async {
        Err(BoxError::from("a turn that has ended does not ask a model"))
    };
    let runner = with_storage(turnwright::runner(unreachable), Some(storage)).await?;
    let show = Show::new(screen.answers_alone(), ApprovalPrompt::nobody());
    resume(show, storage, &runner, summary).await
}

async fn resume(
    mut show: Show,
    storage: &Storage,
    runner: &TurnRunner,
    summary: &TurnSummary,
) -> anyhow::Result<Exit> {
    let conversation = summary.conversation_id.as_str();
    let shown = show.resume(runner, conversation, summary.id()).await?;
    // What was said is there already: only the tidying up could fail.
    let _ = storage.store.close().await;
    Ok(shown.exit())
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
    let strange = storage.place.named;
    if options.base_url.is_none() {
        if strange || chat_note.partial {
            let file = plain(&storage.place.file.display().to_string()).into_owned();
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
    let mut warnings = Vec::new();
    if had.folder != agent.folder {
        let folder = one_line(&had.folder.display().to_string(), 200);
        warnings.push(format!(
            "its chat could read below {folder}: `--folder` names it again"
        ));
    }
    let there = agent.chat_note().tools;
    for file in had.tools.iter().filter(|file| !there.contains(file)) {
        let file = one_line(&file.display().to_string(), 200);
        warnings.push(format!(
            "its chat had the tools of {file}: `--tools` names them again"
        ));
    }
    warnings
}

/// What was said to one server is not sent to another unasked.
fn check_server(agent: &Agent, chat_note: Option<&ChatNote>) -> anyhow::Result<()> {
    let server = &agent.model.address;
    match chat_note.map(|chat_note| &chat_note.server) {
        Some(before) if before != server && !agent.options.switch_server => {
            let held = format!("was held with {}", one_line(before, 120));
            Err(other_server(&held, server, ""))
        }
        _ => Ok(()),
    }
}
