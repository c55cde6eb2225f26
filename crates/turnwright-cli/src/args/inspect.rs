//! `tools`, `schema`, `wire` and `serve-script`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};
use turnwright_testkit::server::model::Protocol;

use super::ToolFiles;

/// List, describe, call and fuzz tools
///
/// Includes the built-in tools, the tools of a program that embeds `turnwright_cli`, and the tools of `--tools` files.
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List all tools and their effects
    List(Sources),
    /// Show the description and the schema that a model sees
    Describe(ToolsDescribe),
    /// Call a tool exactly as a model would: check, repair, approve, run
    Call(ToolsCall),
    /// Check with generated arguments that the schema is what is enforced; runs no handler
    Fuzz(ToolsFuzz),
    /// Print the checksum of a call; equal calls have equal checksums on every machine
    Id(ToolsId),
}

/// The sources of tools.
#[derive(Clone, Debug, Args)]
pub(crate) struct Sources {
    /// Directory that the file tools can read
    #[arg(long, default_value = ".", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) tool_files: ToolFiles,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsDescribe {
    /// Tool to describe
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) sources: Sources,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsCall {
    /// Tool to call
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) call: CallOptions,
    #[command(flatten)]
    pub(crate) sources: Sources,
}

/// How a tool is called.
#[derive(Debug, Args)]
pub(crate) struct CallOptions {
    /// Arguments: JSON text, a file, or `-` for standard input
    #[arg(value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    pub(crate) arguments: String,
    /// Approve the call without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print a large result in full instead of the handle that a model reads [default in a pipe]
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsFuzz {
    /// Tool to check [default: all]
    pub(crate) name: Option<String>,
    /// Number of generated values per tool
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) cases: u32,
    /// Random seed
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) sources: Sources,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsId {
    /// Name of the tool; it does not have to exist
    pub(crate) name: String,
    /// Arguments: JSON text, a file, or `-` for standard input
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) arguments: String,
}

/// Check arguments against a JSON Schema
#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// Check arguments: print repairs and defaults, or every fault
    Check(SchemaCheck),
}

#[derive(Debug, Args)]
pub(crate) struct SchemaCheck {
    /// Schema: JSON text, a file, or `-` for standard input
    #[arg(allow_hyphen_values = true)]
    pub(crate) schema: String,
    /// Arguments: JSON text, a file, or `-` for standard input
    #[arg(allow_hyphen_values = true)]
    pub(crate) args: String,
}

/// Decode recordings of model servers
///
/// A recording is a list of requests and responses, made by `chat --record` or by a cassette of `turnwright-testkit`.
#[derive(Debug, Subcommand)]
pub(crate) enum Wire {
    /// Print what each response of a recording contains, as JSON
    Decode(WireDecode),
}

#[derive(Debug, Args)]
pub(crate) struct WireDecode {
    /// Recordings, or `-` for standard input
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Protocol of the responses [default: found in each request and response]
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: Option<turnwright::models::Protocol>,
}

/// Serve scripted replies over five model protocols
///
/// For testing any client of these protocols: Chat Completions, Responses, Anthropic, Gemini and Ollama. The path of a
/// request decides which one it gets. The script is a JSON array of replies. Each request gets the next reply, streamed
/// or in one piece as requested. Requests that break a rule of their protocol are rejected with the reason and get no
/// reply; those of Chat Completions only with `--strict`.
#[derive(Debug, Args)]
pub(crate) struct ServeScript {
    /// Script, or `-` for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Port on 127.0.0.1; 0 selects a free port
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Serve only this protocol [default: all]
    #[arg(long, value_name = "NAME", value_parser = protocol())]
    pub(crate) protocol: Option<Protocol>,
    /// Check requests of Chat Completions too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Check no requests
    #[arg(long, conflicts_with = "strict")]
    pub(crate) lenient: bool,
    /// Start over after the last reply
    #[arg(long)]
    pub(crate) repeat: bool,
}

fn protocol() -> impl TypedValueParser<Value = Protocol> {
    let names = Protocol::ALL.iter().map(|protocol| protocol.name());
    PossibleValuesParser::new(names).try_map(|name| {
        let mut all = Protocol::ALL.iter().copied();
        let found = all.find(|protocol| protocol.name() == name);
        found.ok_or("no such protocol")
    })
}
