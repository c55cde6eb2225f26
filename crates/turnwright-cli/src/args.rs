//! What the program is told on its command line.

mod turns;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};

pub(crate) use turns::{
    ResumeOptions, Turns, TurnsAnswer, TurnsDelete, TurnsExport, TurnsList, TurnsResume, TurnsShow,
    WhichTurns,
};

use crate::terminal::Colour;

/// Tools for language models as one contract: what the model is shown is what is enforced.
#[derive(Debug, Parser)]
#[command(
    name = "turnwright",
    version,
    arg_required_else_help = true,
    after_help = "Begin with `turnwright demo`: it needs no network and no key.\n\n\
        Ends with 0 if all went well; 1 if what was asked about is not so (arguments refused, no answer, findings);\n\
        2 if the command makes no sense as it was given (a wrong option, no such file or tool); 130 where Ctrl-C cut it off."
)]
pub(crate) struct Cli {
    /// When to write in colour.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// Write JSON for machines, one value a line, instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Chat(Chat),
    #[command(subcommand)]
    Turns(Turns),
    #[command(subcommand, after_help = TOOLS_FILE)]
    Tools(Tools),
    #[command(subcommand)]
    Schema(Schema),
    #[command(subcommand)]
    Wire(Wire),
    ServeScript(ServeScript),
    Completions(Completions),
}

/// What broke last night? A whole turn, offline, in a minute.
///
/// An agent looks for the cause of an outage: a log of several hundred thousand lines that no prompt could hold, metrics as
/// JSON, an instruction that somebody planted in the log, and a restart that only you can allow. The model is a script,
/// on a server on this machine; everything else is real: HTTP, streaming, the call path, artifacts, fences, approval.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  turnwright demo\n  turnwright demo --yes\n  turnwright demo --yes --json | head\n  turnwright demo --store demo.db && turnwright turns list --store demo.db"
)]
pub(crate) struct Demo {
    /// Allow the restart beforehand. Otherwise you are asked, and where there is no terminal it is refused.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Keep the turn in this database, for `turns list` and `turns show`. Nothing is kept unless told.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) store: Option<PathBuf>,
}

/// The database in which conversations are kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreFile {
    /// The database in which conversations are kept. One of yours, in your data folder, unless told.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) store: Option<PathBuf>,
    /// The folder with the large results of that database. FILE.results unless told.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, requires = "store")]
    pub(crate) results: Option<PathBuf>,
}

/// Talk to any model server that speaks the Chat Completions protocol.
///
/// The model may read and search the files below one folder, calculate, and fetch public web addresses. What
/// changes something is asked for first. Ctrl-C calls a turn off; Ctrl-D or /quit ends the program; the conversation is
/// there again next time. Without a terminal each line of standard input is a turn, and what would be asked for is refused;
/// `/resume` alone on a line takes the last turn up again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    turnwright chat --base-url http://127.0.0.1:8080/v1\n  \
    OPENAI_API_KEY=… turnwright chat --model gpt-5-mini\n  \
    echo 'What does this project do?' | turnwright chat --forget\n\n\
    Environment:\n  \
    OPENAI_API_KEY    the key; it is given in no other way, and never shown\n  \
    TURNWRIGHT_HOME   the folder in which conversations are kept, for their owner alone")]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) agent: Agent,
    /// Which conversation, by a name of your own: it is kept, and goes on where it was. Unless told each folder has one for each
    /// server. NAME~2 is the second part of one that was begun anew.
    #[arg(long, value_name = "NAME")]
    pub(crate) conversation: Option<String>,
    /// Begin anew: what was said before stays as a part of the conversation, and is not sent any more.
    #[arg(long)]
    pub(crate) new: bool,
    /// Keep nothing, and read nothing that was kept.
    #[arg(long, conflicts_with_all = ["new", "store", "switch_server"])]
    pub(crate) forget: bool,
    /// Record what goes over the wire into this file, without the key: for `wire decode` and `wire replay`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) again: ResumeOptions,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

/// Which model, and what it may do.
#[derive(Clone, Debug, Args)]
pub(crate) struct Agent {
    /// Where the server is, up to and with `/v1`. OpenAI's if there is a key and nothing else is said.
    #[arg(long, env = "OPENAI_BASE_URL", hide_env_values = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) base_url: Option<String>,
    /// Which model. The server is asked unless told; if it has just one, that is it.
    #[arg(long, env = "OPENAI_MODEL", value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Go on with another server than the conversation was held with: all of it is sent there.
    #[arg(long)]
    pub(crate) switch_server: bool,
    /// The folder that the model may read; nothing outside of it is reached. The current one unless told.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// Send the last N exchanges of the conversation alone: for one that has outgrown the model.
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<usize>,
    /// What the model is told about its task.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Allow beforehand whatever asks for it.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Do not offer the tool that fetches web addresses.
    #[arg(long)]
    pub(crate) no_fetch: bool,
    #[command(flatten)]
    pub(crate) tool_files: ToolFiles,
}

/// Tools of the user's.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ToolFiles {
    /// A file of tools that are programs of yours; may be given several times. See `turnwright tools --help`.
    #[arg(long = "tools", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

/// What a file of tools looks like.
const TOOLS_FILE: &str = r#"A file of tools:
  [
    {
      "name": "disk_free",
      "description": "How much room is left on a disk.",
      "parameters": {
        "type": "object",
        "properties": { "mount": { "type": "string", "pattern": "^/" } },
        "required": ["mount"],
        "additionalProperties": false
      },
      "command": ["./disk-free.sh", "--human"],
      "effects": "read_only",
      "timeout_secs": 10,
      "kind": "text",
      "env": ["DISK_REPORT_URL"]
    }
  ]

  parameters    a JSON Schema; what it forbids never reaches the program
  command       the program and its first arguments, run without a shell, where
                this program was started. A path with a slash is taken from the
                file's folder, any other name is looked for in PATH
  effects       read_only or writes. Writes unless told: then it asks first
  timeout_secs  60 unless told; then it is ended, with what it started
  kind          what its output is: text, json or markdown. Text unless told
  env           names of environment variables to pass to the program

The program gets its arguments as JSON on standard input. What it writes to
standard output is the result; lines on standard error are its progress, and
the reason if it ends with another code than 0. Of the environment it gets PATH,
HOME, LANG, LC_*, TERM, TZ, TMPDIR, USER and the variables that `env` names.

Examples:
  turnwright tools list
  turnwright tools call search_files '{"pattern": "TODO", "glob": "*.rs"}'
  turnwright tools call disk_free '{"mount": "/"}' --tools disk.json
  turnwright tools fuzz --tools disk.json"#;

/// Look at tools, and call them as a model would.
///
/// The tools are those that are built in, those of the program if it is yours (see the library `turnwright_cli`), and those
/// of the files that `--tools` names.
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// All tools, with what they may do.
    List(Sources),
    /// What a model is shown of a tool: its description and its schema.
    #[command(after_help = "Example:\n  turnwright tools describe read_file")]
    Describe(ToolsDescribe),
    /// Calls a tool: checked, repaired, approved, run and settled like a call of a model.
    #[command(after_help = "Examples:\n  \
        turnwright tools call calculate '{\"expression\": \"15% of 80\"}'\n  \
        turnwright tools call read_file '{\"path\": \"README.md\"}' --json\n  \
        turnwright tools call note args.json --tools tools.json --yes")]
    Call(ToolsCall),
    /// Proves that a tool's schema is what is enforced. No handler runs.
    #[command(
        after_help = "Examples:\n  turnwright tools fuzz\n  turnwright tools fuzz note --tools tools.json --cases 10000"
    )]
    Fuzz(ToolsFuzz),
    /// The id of a call: equal for equal calls, on every machine. It is made over the arguments as they came, before any repair.
    #[command(after_help = "Example:\n  turnwright tools id forecast '{\"city\": \"Paris\"}'")]
    Id(ToolsId),
}

/// Where tools come from.
#[derive(Clone, Debug, Args)]
pub(crate) struct Sources {
    /// The folder that the tools for files may read.
    #[arg(long, default_value = ".", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) tool_files: ToolFiles,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsDescribe {
    /// Which tool.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) where_from: Sources,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsCall {
    /// Which tool.
    pub(crate) name: String,
    /// Its arguments: JSON text, a file that holds it, or `-` for standard input.
    #[arg(value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    pub(crate) arguments: String,
    /// Allow it beforehand if it asks.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Write all of a large result, and not what a model reads of it. So it is in a pipe.
    #[arg(long)]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) where_from: Sources,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsFuzz {
    /// Which tool; all unless told.
    pub(crate) name: Option<String>,
    /// How many values are made for each tool.
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) cases: u32,
    /// Where chance begins, to see the same again.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) where_from: Sources,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsId {
    /// Which tool; it need not exist here.
    pub(crate) name: String,
    /// The arguments: JSON text, a file that holds it, or `-` for standard input.
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) arguments: String,
}

/// See what a schema lets through, and what the model is told where it does not.
#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// Says what the call path would say to arguments: what it repairs, or everything that is wrong.
    #[command(after_help = "Examples:\n  \
        turnwright schema check '{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}' '{\"n\":\"7\"}'\n  \
        turnwright schema check schema.json - --json < args.json")]
    Check(SchemaCheck),
}

#[derive(Debug, Args)]
pub(crate) struct SchemaCheck {
    /// The schema: JSON text, a file that holds it, or `-` for standard input.
    #[arg(allow_hyphen_values = true)]
    pub(crate) schema: String,
    /// The arguments: JSON text, a file that holds it, or `-` for standard input.
    #[arg(allow_hyphen_values = true)]
    pub(crate) args: String,
}

/// Look at recordings of model servers: a list of requests and responses, as `chat --record` and the testkit's cassettes keep them.
#[derive(Debug, Subcommand)]
pub(crate) enum Wire {
    /// What each response of a recording says, one line of JSON each.
    #[command(after_help = RECORDING)]
    Decode(WireDecode),
    /// Plays a recorded turn again, through the whole kit: the model and its tools answer what was recorded.
    #[command(after_help = RECORDING)]
    Replay(WireReplay),
}

#[derive(Debug, Args)]
pub(crate) struct WireDecode {
    /// The recordings; `-` is standard input.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct WireReplay {
    /// The recording, or `-` for standard input.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// Be a model server that plays a script, for tests of any client of the Chat Completions protocol.
///
/// The script is a JSON array of replies; each request gets the next one, streamed or whole as it asks.
#[derive(Debug, Args)]
#[command(after_help = "A script:\n  \
    [\n    \
      { \"calls\": [{ \"name\": \"weather\", \"arguments\": { \"city\": \"Bern\" } }] },\n    \
      { \"text\": \"It rains in Bern.\" }\n  \
    ]\n\n\
    Each reply may have: text, reasoning, calls (name, arguments, id), finish, usage, pieces.\n\n\
    Example:\n  turnwright serve-script script.json --port 8080")]
pub(crate) struct ServeScript {
    /// The script, or `-` for standard input.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The port on 127.0.0.1; a free one unless told.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Begin again with the first reply after the last one.
    #[arg(long)]
    pub(crate) repeat: bool,
}

/// Write completions for a shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  turnwright completions bash > ~/.local/share/bash-completion/completions/turnwright"
)]
pub(crate) struct Completions {
    /// Which shell.
    pub(crate) shell: clap_complete::Shell,
}

/// How a recording looks, and how one is made.
const RECORDING: &str = "A recording:\n  \
    [{ \"request\": { \"method\": \"POST\", \"path\": \"/v1/chat/completions\", \"body\": { … } },\n     \
       \"response\": { \"status\": 200, \"headers\": { \"content-type\": \"text/event-stream\" }, \"body\": \"data: …\" } }]\n\n\
    Examples:\n  \
    turnwright chat --record session.json\n  \
    turnwright wire decode session.json\n  \
    turnwright wire replay session.json";
