//! `turnwright turns resume`.

use turnwright::prelude::*;

use super::find::find;
use super::resume_check::{IfHeld, check, wait_until_free};
use super::summary::TurnSummary;
use crate::agent::{Agent, with_storage};
use crate::args;
use crate::exit::{Exit, misuse};
use crate::extensions::Extensions;
use crate::mcp_servers;
use crate::show::Show;
use crate::storage::{ChatNote, Storage, other_server};
use crate::terminal::{ApprovalPrompt, Editor, Screen, Signals, one_line, plain, style};

pub(super) async fn run(
    options: args::TurnsResume,
    extensions: Extensions,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    screen.busy("opening the database");
    let storage = Storage::open_existing(&options.storage, "no turn to resume").await?;
    let summary = find(&storage, &options.turn).await?;
    let attended = screen.is_interactive();
    let markdown = !options.agent.plain;
    if !summary.is_resumable() {
        return ended(&storage, &summary, markdown, screen).await;
    }
    let work = async {
        let if_held = if options.wait {
            IfHeld::Wait
        } else {
            IfHeld::Fail("Use `--wait` to wait for it")
        };
        let conversation_id = &summary.conversation_id;
        wait_until_free(&storage, conversation_id, None, if_held, &mut screen).await?;
        // The other process may have continued the turn.
        let summary = find(&storage, summary.id()).await?;
        if !summary.is_resumable() {
            return Ok((summary, None));
        }
        let chat_note = ChatNote::of(&storage, &summary.conversation_id).await?;
        let missing = chat_note.as_ref().map(|chat_note| {
            if options.agent.tool_files.files.is_empty() && storage.place.named {
                chat_note.tools.as_slice()
            } else {
                &[]
            }
        });
        check(&storage, &summary, missing, &options.again, attended).await?;
        screen.busy("connecting to the model server");
        let agent = match extensions.model {
            Some(_) => options.agent,
            None => known(options.agent, chat_note.as_ref(), &storage, &options.again)?,
        };
        let mcp = agent.mcp.clone();
        let (agent, runner) = Agent::find(agent, extensions, None).await?;
        check_server(&agent, chat_note.as_ref())?;
        let servers = mcp_servers::open(&mcp, &mut screen).await?;
        let (agent, runner) = agent.with_mcp(runner, servers);
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
        // It ended while another process ran it.
        return ended(&storage, &summary, markdown, screen).await;
    };
    let exit = async {
        let person = attended.then(|| Editor::open(None)).transpose()?;
        let approval_prompt =
            ApprovalPrompt::new(agent.options.yes, person).tell_model(options.again.tell_model);
        let mut show = Show::new(screen.answers_alone(), approval_prompt).markdown(markdown);
        if attended {
            announce(&agent, &summary, &mut show.screen)?;
        }
        for warning in warnings {
            show.screen.warn(warning)?;
        }
        let runner = with_storage(runner, Some(&storage)).await?;
        resume(show, &storage, &runner, &summary).await
    };
    let exit = exit.await;
    agent.stop().await;
    exit
}

/// Shows the model and the turn.
fn announce(agent: &Agent, summary: &TurnSummary, screen: &mut Screen) -> anyhow::Result<()> {
    screen.paragraph(style::BOLD, "", &agent.model.shown)?;
    let reads = if agent.builtin_tools {
        format!(" · reads {}", plain(&agent.folder.display().to_string()))
    } else {
        String::new()
    };
    screen.dim(format!(
        "resuming turn {} of conversation {}{reads}",
        one_line(summary.id(), 64),
        one_line(summary.conversation_id.as_str(), 80),
    ))?;
    Ok(())
}

/// Shows a turn that has ended for good: its answer, or why it cannot be resumed. That needs neither a model nor tools.
async fn ended(
    storage: &Storage,
    summary: &TurnSummary,
    markdown: bool,
    screen: Screen,
) -> anyhow::Result<Exit> {
    let unreachable = |_: DispatchContext| async {
        Err(BoxError::from(
            "a turn that has ended does not call a model",
        ))
    };
    let runner = with_storage(turnwright::runner(unreachable), Some(storage)).await?;
    let show = Show::new(screen.answers_alone(), ApprovalPrompt::deny_all()).markdown(markdown);
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
    // Everything is stored already; only cleaning up could fail.
    let _ = storage.store.close().await;
    Ok(shown.exit())
}

/// Fills in options that were not passed from the note of the conversation's chat. The note of a file that was passed on the
/// command line is not used: its author could otherwise choose the server (which gets the key and the files), the directory,
/// the system prompt and the tools (which are programs).
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
                "`{file}` says that this conversation is with {}. If that is right, pass it as `--base-url`",
                one_line(&chat_note.server, 120)
            )));
        }
        options.base_url = Some(chat_note.server);
    }
    options.model = options.model.or(Some(chat_note.model));
    options.no_fetch |= chat_note.no_fetch;
    options.no_exfiltration |= chat_note.no_exfiltration;
    if !strange {
        options.folder = options.folder.or(Some(chat_note.folder));
        options.system = options.system.or(chat_note.system);
        if options.tool_files.files.is_empty() && !again.without_tools {
            options.tool_files.files = chat_note.tools;
        }
        if options.mcp.files.is_empty() && !again.without_tools {
            options.mcp.files = chat_note.mcp;
        }
    }
    Ok(options)
}

/// Warnings about a directory and tools that the chat had and the resumed turn does not have.
fn left_out(agent: &Agent, chat_note: Option<&ChatNote>) -> Vec<String> {
    let Some(had) = chat_note else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    if had.folder != agent.folder {
        let folder = one_line(&had.folder.display().to_string(), 200);
        warnings.push(format!(
            "its chat could read {folder}; pass it with `--folder`"
        ));
    }
    let has = agent.chat_note();
    for (had, has, what, option) in [
        (&had.mcp, &has.mcp, "MCP servers", "--mcp"),
        (&had.tools, &has.tools, "tools", "--tools"),
    ] {
        for file in had.iter().filter(|file| !has.contains(file)) {
            let file = one_line(&file.display().to_string(), 200);
            warnings.push(format!(
                "its chat had the {what} of {file}; pass it with `{option}`"
            ));
        }
    }
    warnings
}

/// A conversation is not sent to another server without `--switch-server`.
fn check_server(agent: &Agent, chat_note: Option<&ChatNote>) -> anyhow::Result<()> {
    let server = &agent.model.address;
    match chat_note.map(|chat_note| &chat_note.server) {
        Some(before) if before != server && !agent.options.switch_server => {
            let held = format!("is with {}", one_line(before, 120));
            Err(other_server(&held, server, ""))
        }
        _ => Ok(()),
    }
}
