//! `demo` and `chat`: the model, its tools, and where conversations are stored.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{McpOptions, ResumeOptions};

/// Run a complete turn offline, without an API key
///
/// An agent looks for the cause of an outage: a log of 420,000 lines that fits no prompt, metrics as JSON, an injected
/// instruction in the log, and a restart that needs your approval. The model is a script on a local server. Everything
/// else is real: HTTP, streaming, the call path, artifacts, envelopes and approval.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Approve the restart without asking [default: ask; deny if there is no terminal]
    #[arg(long)]
    pub(crate) yes: bool,
    /// Store the turn in this database, for `turns list` and `turns show` [default: not stored]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) store: Option<PathBuf>,
}

/// The database of conversations.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreFile {
    /// Database of conversations [default: conversations.db in the data directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Storage")]
    pub(crate) store: Option<PathBuf>,
    /// Directory with the large results of the database [default: FILE.results]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "store", help_heading = "Storage")]
    pub(crate) results: Option<PathBuf>,
}

/// Chat with a model on any model server
///
/// The model can read and search the files in one directory, and fetch public web addresses. Tools that may
/// change something need your approval. Ctrl-C cancels a turn, Ctrl-D or /quit exits, and the conversation continues the
/// next time you start the chat. Answers are rendered as Markdown.
///
/// Without a terminal, each line of standard input is a turn, answers are printed as raw text, and calls that need
/// approval are denied. A line with only /resume resumes the last turn.
#[derive(Debug, Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) agent: Agent,
    /// Conversation to continue or start; NAME~2 is its second part [default: one per directory and server]
    #[arg(long, value_name = "NAME", help_heading = "Conversation")]
    pub(crate) conversation: Option<String>,
    /// Start a new part of the conversation; earlier messages stay stored but are not sent
    #[arg(long, help_heading = "Conversation")]
    pub(crate) new: bool,
    /// Do not read or store conversations
    #[arg(long, conflicts_with_all = ["new", "store", "switch_server"], help_heading = "Conversation")]
    pub(crate) forget: bool,
    /// Record requests and responses in this file, without the API key, for `wire decode`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Conversation")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) again: ResumeOptions,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

/// List the models that a server offers
///
/// Prints one name per line. The API key comes from the environment and is never printed.
#[derive(Debug, Args)]
pub(crate) struct Models {
    /// Provider: openai, responses, anthropic, gemini or ollama
    #[arg(value_name = "PROVIDER", default_value = "openai")]
    pub(crate) provider: String,
    /// Base URL of the model server [default: OPENAI_BASE_URL or the variable of the provider, else the provider's]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) base_url: Option<String>,
}

/// The model and its tools.
#[derive(Clone, Debug, Args)]
pub(crate) struct Agent {
    /// Base URL of the model server, including `/v1` [default: OPENAI_BASE_URL or the variable of the provider, else OpenAI if
    /// OPENAI_API_KEY is set]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, help_heading = "Model")]
    pub(crate) base_url: Option<String>,
    /// Model to use, or PROVIDER:MODEL with openai, responses, anthropic, gemini or ollama [default: the server's only model]
    #[arg(
        long,
        env = "OPENAI_MODEL",
        value_name = "NAME",
        help_heading = "Model"
    )]
    pub(crate) model: Option<String>,
    /// Allow sending a conversation to another server than before
    #[arg(long, help_heading = "Model")]
    pub(crate) switch_server: bool,
    /// Directory that the file tools can read [default: .]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Tools")]
    pub(crate) folder: Option<PathBuf>,
    /// Send only the last N exchanges, for a conversation that exceeds the context window
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub(crate) last: Option<usize>,
    /// System prompt
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub(crate) system: Option<String>,
    /// Approve all tool calls without asking
    #[arg(long, help_heading = "Tools")]
    pub(crate) yes: bool,
    /// Remove the tool that fetches web addresses
    #[arg(long, help_heading = "Tools")]
    pub(crate) no_fetch: bool,
    /// Deny calls that could send private data out, even with --yes: those of tools through which data can leave, while the
    /// prompt has private data and text of third parties [default: ask]
    #[arg(long, help_heading = "Tools")]
    pub(crate) no_exfiltration: bool,
    /// Print answers as raw text instead of rendering Markdown
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) tool_files: ToolFiles,
    #[command(flatten)]
    pub(crate) mcp: McpOptions,
}

/// Tools that are external programs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ToolFiles {
    /// Add the tools of this file (repeatable); see `turnwright tools --help` for the format
    #[arg(long = "tools", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Tools")]
    pub(crate) files: Vec<PathBuf>,
}
