//! `turnwright chat`: a conversation with a model, stored between runs.

mod input;
mod messages;
mod open_conversation;
mod resume;
mod session;

use std::path::Path;

use futures_util::future::join_all;
use serde_json::json;
use turnwright::runner::TurnRunnerBuilder;
use turnwright_mcp::Mcp;

use crate::agent::Agent;
use crate::args;
use crate::exit::Exit;
use crate::extensions::Extensions;
use crate::mcp_servers;
use crate::storage::ConversationPart;
use crate::terminal::{Screen, Signals};

use open_conversation::OpenConversation;
use session::Session;

pub(crate) async fn run(
    options: args::Chat,
    extensions: Extensions,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    // From here on Ctrl-C is handled here.
    let mut signals = Signals::listen()?;
    let find = async {
        screen.busy("connecting to the model server");
        let record = options.record.as_deref();
        let (agent, runner) = Agent::find(options.agent.clone(), extensions, record).await?;
        let servers = mcp_servers::open(&options.agent.mcp, &mut screen).await?;
        anyhow::Ok(agent.with_mcp(runner, servers))
    };
    let agent = tokio::select! {
        agent = find => agent,
        signal = signals.next() => {
            screen.rest();
            return Ok(signal.exit());
        }
    };
    screen.rest();
    let (agent, runner) = agent?;
    let mcp: Vec<Mcp> = agent
        .mcp
        .iter()
        .map(|servers| servers.mcp.clone())
        .collect();
    let exit = converse(options, agent, runner, signals, screen).await;
    join_all(mcp.iter().map(Mcp::stop)).await;
    exit
}

/// Opens the conversation and holds the chat.
async fn converse(
    options: args::Chat,
    agent: Agent,
    runner: TurnRunnerBuilder,
    signals: Signals,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let name = match &options.conversation {
        Some(name) => name.clone(),
        None => default_name(&agent.folder, &agent.model.address),
    };
    screen.busy("opening the database");
    let conversation = if options.forget {
        None
    } else {
        Some(OpenConversation::open(&options, &name, agent.chat_note()).await?)
    };
    screen.rest();
    let part = match &conversation {
        Some(conversation) => conversation.part.clone(),
        None => ConversationPart::named(&name),
    };
    let session = Session {
        agent,
        part,
        conversation,
        again: options.again,
        signals,
    };
    session.converse(runner, screen).await
}

/// The default conversation: one per directory and server, so that messages are not sent to another server by accident.
fn default_name(folder: &Path, server: &str) -> String {
    let whose = json!({ "folder": folder.to_string_lossy(), "server": server });
    let digest = turnwright::call::checksum("chat", whose);
    let plain = |ch: &char| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-');
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let folder: String = folder.chars().filter(plain).take(24).collect();
    let digest = digest.get(..8).unwrap_or(&digest);
    if folder.is_empty() {
        digest.to_owned()
    } else {
        format!("{folder}-{digest}")
    }
}

#[cfg(test)]
mod naming {
    use super::*;

    #[test]
    fn each_directory_has_a_conversation_per_server() {
        let name = |folder: &str, server: &str| default_name(Path::new(folder), server);
        let here = name("/a/shop", "http://127.0.0.1:1/v1");
        assert!(here.starts_with("shop-") && here.len() == 13, "{here}");
        assert_eq!(here, name("/a/shop", "http://127.0.0.1:1/v1"));
        assert_ne!(here, name("/b/shop", "http://127.0.0.1:1/v1"));
        assert_ne!(here, name("/a/shop", "http://127.0.0.1:2/v1"));
        assert_eq!(name("/", "x").len(), 8);
        assert!(name("/a/Grüße & so", "x").starts_with("Greso-"));
    }
}
