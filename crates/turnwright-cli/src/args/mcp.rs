//! `mcp`, and the options for the MCP servers of an agent.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{CallOptions, Sources};

/// The configuration file that the commands of `mcp` read by default.
const DEFAULT_FILE: &str = ".mcp.json";

/// The tokens of definitions above which tools are searched for. The definition of a tool has some 150 tokens.
pub(crate) const DEFAULT_BUDGET: u64 = 10_000;

/// The MCP servers of an agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct McpOptions {
    /// Add the tools of the MCP servers in this file (repeatable); see `turnwright mcp --help` for the format
    #[arg(id = "mcp", long = "mcp", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Tools")]
    pub(crate) files: Vec<PathBuf>,
    /// Use the tools of MCP servers without comparing them with the lock file
    #[arg(long = "mcp-unpinned", requires = "mcp", help_heading = "Tools")]
    pub(crate) unpinned: bool,
    /// With --mcp: if the definitions of all tools have more tokens than this, the model searches for tools of MCP servers
    /// instead of seeing all of them
    #[arg(long, value_name = "TOKENS", default_value_t = DEFAULT_BUDGET, help_heading = "Tools")]
    pub(crate) tool_budget: u64,
}

/// Trust, pin, inspect and call the tools of MCP servers, or be one
///
/// The definitions of tools are pinned in a lock file, so that a server cannot change them unnoticed.
#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// List servers and their tools: state, effects, and why a tool is withheld
    List(McpFile),
    /// Write the definitions of all tools to the lock file, after showing what changes
    Pin(McpConfirm),
    /// Show how definitions differ from the lock file, line by line
    ///
    /// Invisible characters are shown as ⟨U+200B⟩, and so are all letters in names that are not ASCII. Exits with 1 if there are differences.
    Diff(McpFile),
    /// Call a tool of a server exactly as a model would: check, approve, run
    Call(McpCall),
    /// Allow a configuration to start its servers, until it changes
    Trust(McpConfirm),
    /// Check the configuration, the lock file and each server
    Doctor(McpFile),
    /// Offer tools to MCP clients, over standard input and output or over HTTP
    ///
    /// Offers the built-in tools and those of `--tools` files. Invalid arguments never reach a tool. If a call needs
    /// approval, the client asks its user; if the client cannot, the call is denied. Calls need approval if the tool may
    /// change something, or if data can leave through it (fetch_url).
    ///
    /// Over standard input and output, the command ends with its input. Over HTTP, only programs on this machine can
    /// connect, without authentication.
    Serve(McpServe),
}

#[derive(Debug, Args)]
pub(crate) struct McpServe {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Remove the tool that fetches web addresses
    #[arg(long)]
    pub(crate) no_fetch: bool,
    /// Serve HTTP on this port of 127.0.0.1 instead; 0 for a free one
    #[arg(long, value_name = "PORT")]
    pub(crate) http: Option<u16>,
    /// Approve all tool calls without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A configuration.
#[derive(Clone, Debug, Args)]
pub(crate) struct McpFile {
    /// Configuration of the servers (repeatable); see `turnwright mcp --help` for the format
    #[arg(long = "mcp", value_name = "FILE", default_value = DEFAULT_FILE, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct McpConfirm {
    #[command(flatten)]
    pub(crate) config: McpFile,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct McpCall {
    /// Tool to call, as a model sees it: SERVER__TOOL
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) call: CallOptions,
    /// Use tools without comparing them with the lock file
    #[arg(long = "mcp-unpinned")]
    pub(crate) unpinned: bool,
    #[command(flatten)]
    pub(crate) config: McpFile,
}
