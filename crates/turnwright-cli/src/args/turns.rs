//! `turns`: stored turns.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::{Agent, StoreFile};
use crate::turn_state::State;
use crate::units::{parse_bytes, parse_span};

/// List, show, resume, answer, export and delete stored turns
///
/// A turn can be named by a unique prefix of its id.
#[derive(Debug, Subcommand)]
pub(crate) enum Turns {
    /// List turns, newest first
    List(TurnsList),
    /// Show a turn: messages, calls, approvals, usage, and what to do next
    Show(TurnsShow),
    /// Resume a turn that was interrupted, suspended or cancelled; nothing runs twice
    ///
    /// For a turn in your own database, the server, model, directory and tools are those of its chat. A file named by
    /// `--store` does not choose any of these: `turns show` prints the complete command for you to review. For each call
    /// that started and did not end, you are asked whether it took effect. Without a terminal, the turn is then not
    /// resumed unless you pass `--tell-model`.
    Resume(TurnsResume),
    /// Answer at a gate where a turn waits
    ///
    /// If a program runs the turn, the turn continues at once. If the turn is suspended or was interrupted, resume it with
    /// `turns resume`.
    Answer(TurnsAnswer),
    /// Export the records of a turn or a conversation as JSON lines
    Export(TurnsExport),
    /// Delete turns or conversations with their results; asks first
    Delete(TurnsDelete),
}

#[derive(Debug, Args)]
pub(crate) struct TurnsList {
    /// Only show turns of this conversation; NAME~2 is its second part
    #[arg(long, value_name = "NAME")]
    pub(crate) conversation: Option<String>,
    /// Only show turns in this state (repeatable)
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) state: Vec<State>,
    /// Maximum number of turns
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

#[derive(Debug, Args)]
pub(crate) struct TurnsShow {
    /// Turn: its id or a unique prefix of it
    pub(crate) turn: String,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

#[derive(Debug, Args)]
pub(crate) struct TurnsResume {
    /// Turn: its id or a unique prefix of it
    pub(crate) turn: String,
    /// Wait while another process runs the conversation
    #[arg(long)]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) again: ResumeOptions,
    #[command(flatten)]
    pub(crate) agent: Agent,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

#[derive(Debug, Args)]
#[group(id = "answer", required = true, multiple = false, args = ["approve", "edit", "deny", "value", "reject"])]
pub(crate) struct TurnsAnswer {
    /// Turn to answer: its id or a unique prefix of it
    pub(crate) turn: String,
    /// Gate to answer at: its id or a unique prefix of it [default: the only open gate]
    #[arg(long, value_name = "ID")]
    pub(crate) gate: Option<String>,
    /// Approve the call that waits
    #[arg(long)]
    pub(crate) approve: bool,
    /// Approve the call with these arguments instead
    #[arg(long, value_name = "JSON")]
    pub(crate) edit: Option<String>,
    /// Deny the call; the model reads the reason
    #[arg(long, value_name = "REASON")]
    pub(crate) deny: Option<String>,
    /// Answer a gate that is not an approval
    #[arg(long, value_name = "JSON")]
    pub(crate) value: Option<String>,
    /// Give no answer, at any gate; the model reads the reason
    #[arg(long, value_name = "REASON")]
    pub(crate) reject: Option<String>,
    /// Who answers; stored with the answer
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) by: Option<String>,
    /// Note to store with the answer; the model does not read it
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

/// How a turn is resumed.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ResumeOptions {
    /// Resume without the tools files of the original chat
    #[arg(long, conflicts_with = "files", help_heading = "Resuming")]
    pub(crate) without_tools: bool,
    /// Do not ask about interrupted calls; tell the model that their effect is unknown
    #[arg(long, help_heading = "Resuming")]
    pub(crate) tell_model: bool,
}

/// A turn, or all of a conversation.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhichTurns {
    /// Turn: its id or a unique prefix of it
    pub(crate) turn: Option<String>,
    /// Conversation with all of its parts; NAME~2 is only its second part
    #[arg(long, value_name = "NAME")]
    pub(crate) conversation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TurnsExport {
    #[command(flatten)]
    pub(crate) which: WhichTurns,
    /// Write to this new file [default: standard output]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Include the bytes of large results
    #[arg(long)]
    pub(crate) with_results: bool,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

#[derive(Debug, Args)]
#[group(id = "what", required = true, multiple = true, args = ["turn", "conversation", "older_than", "larger_than"])]
pub(crate) struct TurnsDelete {
    /// Turn: its id or a unique prefix of it
    #[arg(conflicts_with_all = ["conversation", "older_than", "larger_than"])]
    pub(crate) turn: Option<String>,
    /// Conversation with all of its parts; NAME~2 is only its second part
    #[arg(long, value_name = "NAME", conflicts_with_all = ["older_than", "larger_than"])]
    pub(crate) conversation: Option<String>,
    /// Conversations without activity for this long: 12h, 30d, 8w
    #[arg(long, value_name = "AGE", value_parser = parse_span)]
    pub(crate) older_than: Option<Duration>,
    /// The oldest conversations, until the database has at most this size: 500MB, 2GB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) larger_than: Option<u64>,
    /// Delete without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}
