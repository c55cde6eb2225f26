//! `mcp`, and the options for the MCP servers of an agent.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{CallOptions, Sources, section};

/// The configuration file that the commands of `mcp` read by default.
const DEFAULT_FILE: &str = ".mcp.json";

/// The tokens of definitions above which tools are searched for. The definition of a tool has some 150 tokens.
pub(crate) const DEFAULT_BUDGET: u64 = 10_000;

/// The format of a configuration.
pub(super) const CONFIGURATION: &str = concat!(
    section!(
        "Configuration",
        r#"{"#,
        r#"  "mcpServers": {"#,
        r#"    "files": {"#,
        r#"      "command": "npx","#,
        r#"      "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/notes"],"#,
        r#"      "allow": ["read_*", "list_*", "search_files"]"#,
        r#"    },"#,
        r#"    "search": {"#,
        r#"      "type": "http","#,
        r#"      "url": "https://example.com/mcp","#,
        r#"      "headers": { "Authorization": "Bearer ${SEARCH_TOKEN}" },"#,
        r#"      "optional": true"#,
        r#"    }"#,
        r#"  }"#,
        r#"}"#,
    ),
    "\n\n",
    section!(
        "Fields of a program",
        "command             Program, run without a shell. A path with a slash is relative to",
        "                    the configuration; any other name is looked up in PATH",
        "args                Arguments",
        "env                 Environment variables to set. The program also gets PATH, HOME,",
        "                    LANG, LC_*, TERM, TZ, TMPDIR and USER, and nothing else",
        "inheritEnv          Names of environment variables to pass to the program",
        "cwd                 Working directory [default: that of the configuration]",
    ),
    "\n\n",
    section!(
        "Fields of an HTTP server",
        "type                http",
        "url                 Address",
        "headers             Headers to send with each request",
        "oauth               How to log in if the server requires it: false for not at all, or",
        "                    an object with clientId, clientSecret, issuer, endpointOrigins,",
        "                    scopes, redirectPort, allowPrivateAddresses [default:",
        "                    automatically, if there is no Authorization header]",
    ),
    "\n\n",
    section!(
        "Fields of both",
        "allow               Names of the tools to use; `*` matches any text [default: all]",
        "deny                Names of tools not to use, even if they are allowed",
        "optional            Do not wait for this server [default: false]",
        "believeAnnotations  Believe tools that say that they only read; otherwise every call",
        "                    needs approval [default: false]",
        "resources           Let the model list and read its resources [default: false]",
        "roots               Directories for the server to work on [default: none]",
        "useInstructions     Show its instructions to the model, as untrusted text",
        "                    [default: false]",
        "readsPrivate        Its results are private data [default: false]",
        "sendsOut            Data can leave through its tools: calls need approval while the",
        "                    prompt has private data and text of third parties, and are",
        "                    denied with `chat --no-exfiltration` [default: false]",
        "quarantine          Do not show its results to the model; it reads them in pieces,",
        "                    marked as untrusted [default: false]",
        "disabled            Do not use this server [default: false]",
        "timeoutSeconds      Time limit of a call [default: 60 without progress, 600 in total]",
        "",
        "${NAME} and ${NAME:-default} in command, args, env, cwd, roots, url, headers and oauth",
        "are replaced by environment variables. Keys of other programs, such as autoApprove,",
        "have no effect and are reported.",
    ),
    "\n\n",
    section!(
        "Trust and pins",
        "A configuration starts programs, so you are asked once before it is used, and",
        "again when it changes, or a variable in a command line or URL (`mcp trust`). The",
        "definitions of tools are pinned in a lock file next to the configuration:",
        "mcp.lock.json for .mcp.json, NAME.lock.json for NAME.json (`mcp pin`). Tools that",
        "were added, changed, renamed or removed since are withheld until you pin them",
        "(`mcp diff`).",
    ),
    "\n\n",
    section!(
        "Login",
        "At a terminal you are shown the page on which you log in, with its host. It is not",
        "opened. Tokens are stored in the data directory, readable by you only, and are sent",
        "only to the server that they are for. Without a terminal, stored tokens are used.",
    ),
    "\n\n",
    section!(
        "Examples",
        "turnwright mcp pin --mcp .mcp.json",
        "turnwright mcp list",
        "turnwright mcp call files__read_text_file '{\"path\": \"README.md\"}'",
        "turnwright chat --mcp .mcp.json",
    )
);

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
    #[command(after_help = section!(
        "Examples",
        "turnwright mcp list",
        "turnwright mcp list --mcp servers.json --json",
    ))]
    List(McpFile),
    /// Write the definitions of all tools to the lock file, after showing what changes
    #[command(after_help = section!(
        "Examples",
        "turnwright mcp pin",
        "turnwright mcp pin --mcp servers.json --yes",
    ))]
    Pin(McpConfirm),
    /// Show how definitions differ from the lock file, word by word
    ///
    /// Invisible characters are shown as ⟨U+200B⟩, and so are all letters in names that are not ASCII. Exits with 1 if there are differences.
    #[command(after_help = section!(
        "Examples",
        "turnwright mcp diff",
        "turnwright mcp diff --json",
    ))]
    Diff(McpFile),
    /// Call a tool of a server exactly as a model would: check, approve, run
    #[command(after_help = section!(
        "Examples",
        "turnwright mcp call files__read_text_file '{\"path\": \"README.md\"}'",
        "turnwright mcp call files__write_file args.json --yes --json",
    ))]
    Call(McpCall),
    /// Allow a configuration to start its servers, until it changes
    #[command(after_help = section!(
        "Examples",
        "turnwright mcp trust",
        "turnwright mcp trust --mcp servers.json --yes",
    ))]
    Trust(McpConfirm),
    /// Check the configuration, the lock file and each server
    #[command(after_help = concat!(
        section!(
            "Examples",
            "turnwright mcp doctor",
            "turnwright mcp doctor --mcp servers.json --json",
        ),
        "\n\nExits with 1 if a check fails. Warnings do not change the exit code."
    ))]
    Doctor(McpFile),
    /// Offer tools to MCP clients, over standard input and output or over HTTP
    ///
    /// Offers the built-in tools and those of `--tools` files. Invalid arguments never reach a tool. If a call needs
    /// approval, the client asks its user; if the client cannot, the call is denied. Calls need approval if the tool may
    /// change something, or if data can leave through it (fetch_url).
    ///
    /// Over standard input and output, the command ends with its input. Over HTTP, only programs on this machine can
    /// connect, without authentication.
    #[command(after_help = concat!(
        section!(
            "Examples",
            "turnwright mcp serve",
            "turnwright mcp serve --folder docs --tools tools.json --no-fetch",
            "turnwright mcp serve --http 8765",
        ),
        "\n\n",
        section!(
            "Configuration of a client",
            r#"{"#,
            r#"  "mcpServers": {"#,
            r#"    "project": { "command": "turnwright", "args": ["mcp", "serve", "--folder", "/project"] }"#,
            r#"  }"#,
            r#"}"#,
        ),
        "\n\nRefused, failed and completed calls are reported on standard error, without their arguments."
    ))]
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
