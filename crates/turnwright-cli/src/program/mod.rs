//! The program: its builder, its command line, and how it ends.

mod help;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use serde_json::json;
use turnwright::approval::ApprovalPolicy;
use turnwright::{Error, Executor, Tool};

use help::{hide_builtin_options, overview, with_name, with_text_below};

use crate::args::{self, Cli, Command};
use crate::exit::{Exit, is_broken_pipe, verdict};
use crate::extensions::{CustomModel, Extensions, Policy, State};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, plain};
use crate::{
    chat, demo, doctor, man, mcp, models, new, schema, serve, storage, tools, turns, wire,
};

/// The program `turnwright`, extended by your tools, state, policies and executor.
///
/// ```no_run
/// use turnwright::prelude::*;
///
/// /// Number of items in stock.
/// #[tool(effects = "read_only")]
/// async fn stock() -> String {
///     "3 items".to_owned()
/// }
///
/// fn main() -> std::process::ExitCode {
///     turnwright_cli::Program::new()
///         .name("shop")
///         .version(env!("CARGO_PKG_VERSION"))
///         .tool(stock())
///         .main()
/// }
/// ```
#[must_use = "a program does nothing until `main` is called"]
pub struct Program {
    name: &'static str,
    version: Option<&'static str>,
    extensions: Extensions,
}

impl Program {
    /// Creates the program with its built-in tools and nothing else.
    pub fn new() -> Self {
        Program {
            name: "turnwright",
            version: None,
            extensions: Extensions::default(),
        }
    }

    /// Sets the name of the program in help, examples, completions and man pages. Default: `turnwright`.
    pub fn name(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Sets the version that `--version` prints, usually `env!("CARGO_PKG_VERSION")`. Default: the version of this crate.
    pub fn version(mut self, version: &'static str) -> Self {
        self.version = Some(version);
        self
    }

    /// Adds a tool to `chat`, `turns resume`, `tools` and `mcp serve`.
    pub fn tool(mut self, tool: impl Into<Result<Tool, Error>>) -> Self {
        self.extensions.tools.push(tool.into());
        self
    }

    /// Adds several tools.
    pub fn tools<T: Into<Result<Tool, Error>>>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, Program::tool)
    }

    /// Removes the built-in tools (`list_files`, `read_file`, `search_files`, `fetch_url`) from `chat`,
    /// `turns resume`, `tools` and `mcp serve`. Your own tools and those of `--tools` files stay. The options `--folder`
    /// and `--no-fetch`, which concern only built-in tools, are no longer in the help.
    ///
    /// ```no_run
    /// use turnwright::prelude::*;
    ///
    /// /// Number of items in stock.
    /// #[tool(effects = "read_only")]
    /// async fn stock() -> String {
    ///     "3 items".to_owned()
    /// }
    ///
    /// fn main() -> std::process::ExitCode {
    ///     turnwright_cli::Program::new().without_builtin_tools().tool(stock()).main()
    /// }
    /// ```
    pub fn without_builtin_tools(mut self) -> Self {
        self.extensions.builtin_tools = false;
        self
    }

    /// Adds a value that handlers, policies and middleware reach by its type, through
    /// [`ToolContext::state`](turnwright::prelude::ToolContext). One value per type. Applies to `chat`, `turns resume`,
    /// `tools call` and `mcp serve`.
    ///
    /// ```no_run
    /// use turnwright::prelude::*;
    ///
    /// struct Shop { stock: u32 }
    ///
    /// /// Number of items in stock.
    /// #[tool(effects = "read_only")]
    /// async fn stock(ctx: ToolContext) -> Result<String, ToolError> {
    ///     let shop = ctx.state::<Shop>()?;
    ///     Ok(format!("{} items", shop.stock))
    /// }
    ///
    /// fn main() -> std::process::ExitCode {
    ///     turnwright_cli::Program::new().state(Shop { stock: 3 }).tool(stock()).main()
    /// }
    /// ```
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.extensions.settings.push(Box::new(State(value)));
        self
    }

    /// Adds a policy that decides whether a call may run. It is asked before the program's own policy, which requires approval
    /// for every tool that is not read-only. Applies to `chat`, `turns resume`, `tools call` and `mcp serve`.
    ///
    /// ```no_run
    /// use turnwright::prelude::*;
    /// use turnwright::approval::{when, PendingCall};
    ///
    /// fn main() -> std::process::ExitCode {
    ///     let large = |call: &PendingCall<'_>| call.args()["amount"].as_u64() > Some(1_000);
    ///     turnwright_cli::Program::new()
    ///         .policy(when(large, "it moves more than 1,000"))
    ///         .main()
    /// }
    /// ```
    pub fn policy(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.extensions.settings.push(Box::new(Policy(policy)));
        self
    }

    /// Answers turns with this executor instead of a model server. `chat` and `turns resume` then need no `--base-url` and no
    /// key; they ignore `--base-url` and `--model`, and refuse `--record`.
    ///
    /// ```no_run
    /// use turnwright::prelude::*;
    ///
    /// fn main() -> std::process::ExitCode {
    ///     let parrot = |ctx: DispatchContext| async move {
    ///         ctx.answer("Polly wants a cracker.").await?;
    ///         Ok(())
    ///     };
    ///     turnwright_cli::Program::new().name("parrot").executor(parrot).main()
    /// }
    /// ```
    pub fn executor(mut self, executor: impl Executor + 'static) -> Self {
        self.extensions.model = Some(CustomModel {
            name: executor.name().to_owned(),
            model: executor.model().map(str::to_owned),
            runner: turnwright::runner(executor),
        });
        self
    }

    /// Parses the command line, runs the command and returns its exit code.
    pub fn main(self) -> ExitCode {
        let cli = match self.parse() {
            Ok(cli) => cli,
            Err(error) => return self.print_usage(&error),
        };
        cli.color.apply();
        set_panic_hook();
        let json = cli.json;
        match self.run(cli) {
            Ok(exit) => exit.into(),
            Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
            Err(error) => print_error(&storage::explain(error), json),
        }
    }

    fn command(&self) -> clap::Command {
        let command = with_text_below(Cli::command());
        let command = command.name(self.name).bin_name(self.name);
        let command = match self.version {
            Some(version) => command.version(version),
            None => command,
        };
        let overview = overview(&command);
        let command = command.before_help(overview);
        if self.extensions.builtin_tools {
            command
        } else {
            hide_builtin_options(command)
        }
    }

    fn parse(&self) -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&self.command().try_get_matches()?)
    }

    /// Prints help, the version (exit code 0) or a usage error (exit code 2).
    fn print_usage(&self, error: &clap::Error) -> ExitCode {
        let text = self.with_own_name(&error.render().ansi().to_string());
        // If the output is closed, the exit code is all that is left to report.
        let _ = if error.use_stderr() {
            write!(anstream::stderr(), "{text}")
        } else {
            write!(anstream::stdout(), "{text}")
        };
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    }

    fn with_own_name(&self, help: &str) -> String {
        with_name(help, self.name)
    }

    fn run(self, cli: Cli) -> anyhow::Result<Exit> {
        let screen = Screen::new(cli.json);
        let command = self.command();
        let version = self.version.unwrap_or(env!("CARGO_PKG_VERSION"));
        let extensions = self.extensions;
        match cli.command {
            Command::Demo(options) => in_runtime(demo::run(&options, screen)),
            Command::New(options) => new::run(&options, screen),
            Command::Doctor(options) => {
                in_runtime(doctor::run(options, extensions.model.is_some(), screen))
            }
            Command::Chat(options) => in_runtime(chat::run(options, extensions, screen)),
            Command::Turns(options) => in_runtime(turns::run(options, extensions, screen)),
            Command::Tools(options) => in_runtime(tools::run(options, extensions, screen)),
            Command::Mcp(args::Mcp::Serve(options)) => {
                let program = (self.name, version);
                in_runtime(mcp::serve(options, program, extensions, screen))
            }
            Command::Mcp(options) => in_runtime(mcp::run(options, extensions, screen)),
            Command::Schema(args::Schema::Check(options)) => schema::check(&options, screen),
            Command::Wire(args::Wire::Decode(options)) => wire::decode(&options, screen),
            Command::Models(options) => in_runtime(models::run(options, screen)),
            Command::ServeScript(options) => in_runtime(serve::run(options, screen)),
            Command::Completions(options) => {
                print_completions(&options, command, self.name, screen)
            }
            Command::Man(options) => {
                let rename = |text: &str| with_name(text, self.name);
                man::run(&options, command, rename, screen)
            }
        }
    }
}

fn in_runtime(work: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let exit = runtime.block_on(work);
    // Does not wait for threads of tools that cannot be stopped.
    runtime.shutdown_background();
    exit
}

fn print_completions(
    options: &args::Completions,
    mut command: clap::Command,
    name: &str,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    // Through memory: `generate` panics if the output is closed.
    clap_complete::generate(options.shell, &mut command, name, &mut text);
    screen.content(&text)?;
    Ok(Exit::Done)
}

/// Panics of handlers are reported as failed calls, so they print nothing. A panic on the main thread is a bug of the
/// program and is reported in one sentence.
fn set_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        if std::thread::current().name() != Some("main") {
            return;
        }
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        // If the output is closed, the exit code is all that is left to report.
        let _ = writeln!(
            anstream::stderr(),
            "error: internal error at {place}; please report it"
        );
    }));
}

/// Prints an error in one sentence, without a backtrace.
fn print_error(error: &anyhow::Error, json: bool) -> ExitCode {
    let (sentence, code) = verdict(error);
    let sentence = plain(&sentence).into_owned();
    let text = if json {
        json!({ "error": { "message": sentence, "exit": code } }).to_string()
    } else {
        format!("{} {sentence}", paint(style::BAD, "error:"))
    };
    // If the output is closed, the exit code is all that is left to report.
    let _ = writeln!(anstream::stderr(), "{text}");
    ExitCode::from(code)
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Default for Program {
    fn default() -> Self {
        Program::new()
    }
}
