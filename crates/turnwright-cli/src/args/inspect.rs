//! `tools`, `schema`, `wire` and `serve-script`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};
use turnwright_testkit::server::model::Protocol;

use super::{ToolFiles, section};

/// The format of a tools file.
pub(super) const TOOLS_FILE: &str = concat!(
    section!(
        "Tools file",
        r#"["#,
        r#"  {"#,
        r#"    "name": "disk_free","#,
        r#"    "description": "Free space on a disk.","#,
        r#"    "parameters": {"#,
        r#"      "type": "object","#,
        r#"      "properties": { "mount": { "type": "string", "pattern": "^/" } },"#,
        r#"      "required": ["mount"],"#,
        r#"      "additionalProperties": false"#,
        r#"    },"#,
        r#"    "command": ["./disk-free.sh", "--human"],"#,
        r#"    "effects": "read_only","#,
        r#"    "timeout_secs": 10,"#,
        r#"    "kind": "text","#,
        r#"    "env": ["DISK_REPORT_URL"]"#,
        r#"  }"#,
        r#"]"#,
    ),
    "\n\n",
    section!(
        "Fields",
        "parameters    JSON Schema of the arguments. Invalid arguments never reach the",
        "              program",
        "command       Program and its first arguments, run without a shell in the current",
        "              directory. A path with a slash is relative to the tools file; any",
        "              other name is looked up in PATH",
        "effects       read_only or writes; writes needs approval [default: writes]",
        "timeout_secs  Time limit; the program and its children are killed [default: 60]",
        "kind          Type of the output: text, json or markdown [default: text]",
        "env           Names of environment variables to pass to the program",
    ),
    "\n\n",
    section!(
        "Protocol",
        "stdin         The arguments as JSON",
        "stdout        The result",
        "stderr        Progress, one message per line; the reason if the exit code is not 0",
        "environment   PATH, HOME, LANG, LC_*, TERM, TZ, TMPDIR, USER and the variables in",
        "              `env`",
    ),
    "\n\n",
    section!(
        "Examples",
        "turnwright tools list",
        "turnwright tools call search_files '{\"pattern\": \"TODO\", \"glob\": \"*.rs\"}'",
        "turnwright tools call disk_free '{\"mount\": \"/\"}' --tools disk.json",
        "turnwright tools fuzz --tools disk.json",
    )
);

/// List, describe, call and fuzz tools
///
/// Includes the built-in tools, the tools of a program that embeds `turnwright_cli`, and the tools of `--tools` files.
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List all tools and their effects
    #[command(after_help = section!(
        "Examples",
        "turnwright tools list",
        "turnwright tools list --tools tools.json --json",
    ))]
    List(Sources),
    /// Show the description and the schema that a model sees
    #[command(after_help = section!("Examples", "turnwright tools describe read_file"))]
    Describe(ToolsDescribe),
    /// Call a tool exactly as a model would: check, repair, approve, run
    #[command(after_help = section!(
        "Examples",
        "turnwright tools call search_files '{\"pattern\": \"TODO\"}'",
        "turnwright tools call read_file '{\"path\": \"README.md\"}' --json",
        "turnwright tools call note args.json --tools tools.json --yes",
    ))]
    Call(ToolsCall),
    /// Check with generated arguments that the schema is what is enforced; runs no handler
    #[command(after_help = section!(
        "Examples",
        "turnwright tools fuzz",
        "turnwright tools fuzz note --tools tools.json --cases 10000",
    ))]
    Fuzz(ToolsFuzz),
    /// Print the checksum of a call; equal calls have equal checksums on every machine
    #[command(after_help = section!(
        "Examples",
        "turnwright tools id forecast '{\"city\": \"Paris\"}'",
    ))]
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
    #[command(after_help = section!(
        "Examples",
        "turnwright schema check '{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}' '{\"n\":\"7\"}'",
        "turnwright schema check schema.json - --json < args.json",
    ))]
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
    #[command(after_help = concat!(
        section!(
            "Recording",
            r#"[{ "request": { "method": "POST", "path": "/v1/chat/completions", "body": { … } },"#,
            r#"   "response": { "status": 200, "headers": { "content-type": "text/event-stream" }, "body": "data: …" } }]"#,
        ),
        "\n\n",
        section!(
            "Examples",
            "turnwright chat --record session.json",
            "turnwright wire decode session.json",
            "turnwright wire decode session.json --protocol anthropic",
        ),
    ))]
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
#[command(after_help = concat!(
    section!(
        "Script",
        r#"["#,
        r#"  { "calls": [{ "name": "weather", "arguments": { "city": "Bern" } }] },"#,
        r#"  { "text": "It rains in Bern." }"#,
        r#"]"#,
    ),
    "\n\n",
    section!(
        "Fields of a reply",
        "text       The text",
        "reasoning  The reasoning before it",
        "calls      Tool calls: name, arguments, id",
        "refusal    The text of a refusal",
        "finish     stop, length, tool_calls, content_filter, or a word of the protocol",
        "usage      Token counts: input, output, cached, cache_written, reasoning",
        "pieces     Number of pieces in which each text is streamed [default: 4]",
        "call_ids   Whether calls have ids in Gemini and Ollama",
        "blocks     Raw blocks by protocol",
        "blocked    Why the prompt was blocked",
        "phase      Phase of the message in Responses",
    ),
    "\n\n",
    section!(
        "Paths",
        "chat_completions  POST …/chat/completions, GET …/models",
        "responses         POST …/responses, GET …/models",
        "anthropic         POST …/messages, GET …/models",
        "gemini            POST …/models/NAME:generateContent and :streamGenerateContent,",
        "                  GET …/v1beta/models",
        "ollama            POST …/api/chat, GET …/api/tags",
    ),
    "\n\n",
    section!(
        "Examples",
        "turnwright serve-script script.json --port 8080",
        "turnwright serve-script script.json --protocol anthropic",
    ),
))]
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
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Protocol>())
}
