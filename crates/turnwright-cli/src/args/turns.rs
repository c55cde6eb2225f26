//! What the program is told about turns that were kept.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::{Agent, StoreFile};
use crate::turn_state::State;
use crate::units::{parse_bytes, parse_span};

/// Look at turns that were kept, take them up again, and delete them.
///
/// A turn may be named by the beginning of its id, if no other begins like that.
#[derive(Debug, Subcommand)]
pub(crate) enum Turns {
    /// The turns, newest first: how far each came, what was said, what was called.
    #[command(after_help = "Examples:\n  \
        turnwright turns list\n  \
        turnwright turns list --state interrupted\n  \
        turnwright turns list --store agent.db --limit 1000 --json")]
    List(TurnsList),
    /// A whole turn: what was said, thought and called, who was asked, what it used, and what to do next.
    #[command(
        after_help = "Examples:\n  turnwright turns show 019a8c3e\n  turnwright turns show 019a8c3e --json"
    )]
    Show(TurnsShow),
    /// Takes a turn up again where it was cut off. Nothing is done twice.
    ///
    /// The server, the model, the folder and the tools are those of its chat, if it is in your own database. A file that
    /// `--store` names chooses none of these: `turns show` prints the whole command, for you to look at. Of a call that was
    /// begun and never ended you are asked what came of it; where there is no terminal nothing happens, unless you say
    /// `--tell-model`.
    #[command(after_help = "Examples:\n  \
        turnwright turns resume 019a8c3e\n  \
        turnwright turns resume 019a8c3e --wait\n  \
        turnwright turns resume 019a8c3e --without-tools\n  \
        turnwright turns resume 019a8c3e --store agent.db --base-url http://127.0.0.1:8080/v1")]
    Resume(TurnsResume),
    /// Answer at a gate where a turn waits
    ///
    /// The turn goes on by itself if a program runs it. Resume it with `turns resume` if it is suspended or was interrupted.
    #[command(after_help = "Examples:\n  \
        turnwright turns answer 019a8c3e --approve\n  \
        turnwright turns answer 019a8c3e --deny \"too expensive\"\n  \
        turnwright turns answer 019a8c3e --gate address-5f2c --value '{\"street\": \"Elm\"}'")]
    Answer(TurnsAnswer),
    /// Writes the records of a turn or a conversation, one a line as JSON.
    #[command(after_help = "Examples:\n  \
        turnwright turns export 019a8c3e\n  \
        turnwright turns export --conversation shop --with-results --output shop.jsonl")]
    Export(TurnsExport),
    /// Deletes turns or conversations, with the results that are kept for them. Asks first.
    #[command(after_help = "Examples:\n  \
        turnwright turns delete 019a8c3e\n  \
        turnwright turns delete --conversation shop\n  \
        turnwright turns delete --older-than 30d --yes\n  \
        turnwright turns delete --larger-than 500MB --yes")]
    Delete(TurnsDelete),
}

#[derive(Debug, Args)]
pub(crate) struct TurnsList {
    /// Those of this conversation alone, with all of its parts; NAME~2 is one part.
    #[arg(long, value_name = "NAME")]
    pub(crate) conversation: Option<String>,
    /// Those that are so alone; may be given several times.
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) state: Vec<State>,
    /// So many at most.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

#[derive(Debug, Args)]
pub(crate) struct TurnsShow {
    /// Which turn: its id, or the beginning of it.
    pub(crate) turn: String,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

#[derive(Debug, Args)]
pub(crate) struct TurnsResume {
    /// Which turn: its id, or the beginning of it.
    pub(crate) turn: String,
    /// Wait while another program has the conversation.
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
    /// Turn to answer: its id, or the beginning of it
    pub(crate) turn: String,
    /// Gate to answer at: its id, or the beginning of it [default: the only open gate]
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
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

/// How a turn is taken up again.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ResumeOptions {
    /// Take a turn up without the files of tools that its chat had.
    #[arg(long, conflicts_with = "files")]
    pub(crate) without_tools: bool,
    /// Take a turn up without asking anybody what became of calls that were cut off: the model is told that nobody knows, for good.
    #[arg(long)]
    pub(crate) tell_model: bool,
}

/// A turn, or all of a conversation.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhichTurns {
    /// Which turn: its id, or the beginning of it.
    pub(crate) turn: Option<String>,
    /// All of a conversation, with all of its parts; NAME~2 is one part.
    #[arg(long, value_name = "NAME")]
    pub(crate) conversation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TurnsExport {
    #[command(flatten)]
    pub(crate) which: WhichTurns,
    /// Into this file, which must not be there yet; to standard output unless told.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Put what is written in the place of the file.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// With the bytes of large results, in the records that name them.
    #[arg(long)]
    pub(crate) with_results: bool,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

#[derive(Debug, Args)]
#[group(id = "what", required = true, multiple = true, args = ["turn", "conversation", "older_than", "larger_than"])]
pub(crate) struct TurnsDelete {
    /// Which turn: its id, or the beginning of it.
    #[arg(conflicts_with_all = ["conversation", "older_than", "larger_than"])]
    pub(crate) turn: Option<String>,
    /// All of a conversation, with all of its parts; NAME~2 is one part.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["older_than", "larger_than"])]
    pub(crate) conversation: Option<String>,
    /// Conversations in which nothing was written for so long: 12h, 30d, 8w.
    #[arg(long, value_name = "AGE", value_parser = parse_span)]
    pub(crate) older_than: Option<Duration>,
    /// The oldest conversations, until all that is kept has no more than this: 500MB, 2GB.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) larger_than: Option<u64>,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}
