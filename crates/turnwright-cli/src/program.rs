//! The program: its builder, its command line, and how it ends.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;
use turnwright::Executor;

use clap::builder::StyledStr;
use clap::{CommandFactory as _, FromArgMatches as _};
use serde_json::json;
use turnwright::approval::ApprovalPolicy;
use turnwright::runner::IntoTool;

use crate::args::{self, Cli, Command};
use crate::exit::{Exit, is_broken_pipe, verdict};
use crate::extensions::{CustomModel, Extensions, Policy, State};
use crate::terminal::Screen;
use crate::terminal::style::{self, paint};
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
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.extensions.tools.push(tool.into_tool());
        self
    }

    /// Adds several tools.
    pub fn tools<T: IntoTool>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, Program::tool)
    }

    /// Removes the built-in tools (`list_files`, `read_file`, `search_files`, `calculate`, `fetch_url`) from `chat`,
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
        let command = Cli::command().name(self.name).bin_name(self.name);
        let command = match self.version {
            Some(version) => command.version(version),
            None => command,
        };
        let overview = overview(&command);
        let command = command.before_help(overview);
        match self.extensions.builtin_tools {
            true => command,
            false => hide_builtin_options(command),
        }
    }

    fn parse(&self) -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&self.command().try_get_matches()?)
    }

    /// Prints help, the version (exit code 0) or a usage error (exit code 2).
    fn print_usage(&self, error: &clap::Error) -> ExitCode {
        let text = self.with_own_name(&error.render().ansi().to_string());
        // If the output is closed, the exit code is all that is left to report.
        let _ = match error.use_stderr() {
            true => write!(anstream::stderr(), "{text}"),
            false => write!(anstream::stdout(), "{text}"),
        };
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    }

    /// Replaces the default name in examples by the name of this program.
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
            Command::Wire(args::Wire::Replay(options)) => in_runtime(wire::replay(options, screen)),
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

fn with_name(text: &str, name: &str) -> String {
    text.replace("turnwright ", &format!("{name} "))
}

/// The commands in groups, for the help of the program.
fn overview(command: &clap::Command) -> StyledStr {
    let widest = command.get_subcommands().map(|item| item.get_name().len());
    let widest = widest.max().unwrap_or_default();
    let (header, literal) = (
        command.get_styles().get_header(),
        command.get_styles().get_literal(),
    );
    let mut text = String::new();
    for (title, names) in args::GROUPS {
        text.push_str(&format!("{}\n", paint(*header, format_args!("{title}:"))));
        for name in *names {
            let about = match command
                .find_subcommand(name)
                .and_then(|item| item.get_about())
            {
                Some(about) => about.to_string(),
                // clap adds this command when it parses.
                None => "Print this help, or the help of a command".to_owned(),
            };
            let name = paint(*literal, format_args!("{name:widest$}"));
            text.push_str(&format!("  {name}  {about}\n"));
        }
        text.push('\n');
    }
    // clap ends it with an empty line.
    StyledStr::from(text.trim_end().to_owned())
}

/// Hides the options that only concern built-in tools.
fn hide_builtin_options(command: clap::Command) -> clap::Command {
    let hide = |command: clap::Command| {
        let names: Vec<clap::Id> = command
            .get_arguments()
            .map(|arg| arg.get_id().clone())
            .filter(|id| *id == "folder" || *id == "no_fetch")
            .collect();
        names.into_iter().fold(command, |command, id| {
            command.mut_arg(id, |arg| arg.hide(true))
        })
    };
    command
        .mut_subcommand("chat", hide)
        .mut_subcommand("turns", |turns| turns.mut_subcommand("resume", hide))
        .mut_subcommand("tools", |tools| {
            ["list", "describe", "call", "fuzz"]
                .into_iter()
                .fold(tools, |tools, name| tools.mut_subcommand(name, hide))
        })
        .mut_subcommand("mcp", |mcp| mcp.mut_subcommand("serve", hide))
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
    screen.write(String::from_utf8_lossy(&text))?;
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
    let sentence = crate::terminal::plain(&sentence).into_owned();
    let text = match json {
        true => json!({ "error": { "message": sentence, "exit": code } }).to_string(),
        false => format!("{} {sentence}", paint(style::BAD, "error:")),
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

#[cfg(test)]
mod tests {
    use turnwright::prelude::*;

    use super::*;
    use crate::agent::{self, Agent};
    use turnwright::approval::PendingCall;
    use turnwright::approval::when;
    use turnwright::{Effects, Error};

    #[test]
    fn help_uses_the_name_and_version_of_the_program() {
        let program = Program::new().name("mine").version("0.3.1");
        let printed = |args: &[&str]| {
            let error = program.command().try_get_matches_from(args).unwrap_err();
            program.with_own_name(&error.render().to_string())
        };
        assert_eq!(printed(&["mine", "--version"]), "mine 0.3.1\n");
        for help in [
            printed(&["mine", "--help"]),
            printed(&["mine", "tools", "call", "--help"]),
        ] {
            assert!(
                help.contains("mine ") && !help.contains("turnwright "),
                "{help}"
            );
        }
    }

    /// Runs a command with `--json`, so that approvals are denied.
    fn ran(program: Program, args: &[&str]) -> Exit {
        let cli = cli_of(&program, args);
        program.run(cli).unwrap()
    }

    struct Stock(u32);

    fn sells() -> Result<Tool, Error> {
        Tool::dynamic("sell", json!({ "type": "object" }))
            .description("Sells one.")
            .effects(Effects::ReadOnly)
            .handler(|_: serde_json::Value, ctx: ToolContext| async move {
                let stock = ctx.state::<Stock>()?;
                match stock.0 {
                    0 => Err(ToolError::internal("sold out")),
                    left => Ok(format!("{left} left")),
                }
            })
            .build()
    }

    #[test]
    fn state_and_policies_apply_to_tools_call() {
        let call = ["tools", "call", "sell"];
        let program = || Program::new().tool(sells());
        assert_eq!(ran(program(), &call), Exit::No, "no state");
        assert_eq!(ran(program().state(Stock(0)), &call), Exit::No);
        assert_eq!(ran(program().state(Stock(3)), &call), Exit::Done);
        let asks = when(|_: &PendingCall<'_>| true, "it is the last one");
        let asking = program().state(Stock(3)).policy(asks);
        assert_eq!(
            ran(asking, &call),
            Exit::No,
            "approval is denied without a terminal"
        );
    }

    #[test]
    fn executor_of_the_program_answers_instead_of_a_server() {
        let program = Program::new().tool(sells()).state(Stock(3)).executor(
            |ctx: DispatchContext| async move {
                let sold = ctx.call("sell", "{}").await;
                ctx.answer(sold.text().await.unwrap_or_default()).await?;
                Ok(())
            },
        );
        let extensions = program.extensions;
        let answer = tokio::runtime::Runtime::new().unwrap().block_on(async {
            let given = chat_args(&[]);
            let (agent, runner) = Agent::find(given.agent, extensions, None).await.unwrap();
            assert_eq!(agent.model.address, "the program's own model (executor)");
            let runner = agent::with_storage(runner, None).await.unwrap();
            runner.run("Sell one.").await.into_answer().unwrap()
        });
        assert_eq!(answer, "3 left");
    }

    #[test]
    fn record_is_refused_for_an_executor_of_the_program() {
        let model = |ctx: DispatchContext| async move { Ok(ctx.ack()?) };
        let extensions = Program::new().executor(model).extensions;
        let given = chat_args(&["--record", "x.json"]);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let found = runtime.block_on(Agent::find(
            given.agent,
            extensions,
            given.record.as_deref(),
        ));
        let error = found.map(drop).unwrap_err().to_string();
        assert!(error.contains("--record"), "{error}");
    }

    #[test]
    fn executor_of_the_program_gets_the_system_prompt() {
        let model = |ctx: DispatchContext| async move {
            ctx.answer(ctx.instructions().unwrap_or_default()).await?;
            Ok(())
        };
        let extensions = Program::new().executor(model).extensions;
        let answer = tokio::runtime::Runtime::new().unwrap().block_on(async {
            let given = chat_args(&["--system", "Be kind."]);
            let (_, runner) = Agent::find(given.agent, extensions, None).await.unwrap();
            let runner = agent::with_storage(runner, None).await.unwrap();
            runner.run("Hello.").await.into_answer().unwrap()
        });
        assert_eq!(answer, "Be kind.");
    }

    #[test]
    fn every_command_is_in_one_group_of_the_overview() {
        let mut command = Program::new().command();
        command.build();
        let mut all: Vec<&str> = command
            .get_subcommands()
            .map(|item| item.get_name())
            .collect();
        let mut grouped: Vec<&str> = args::GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(all, grouped);
    }

    #[test]
    fn the_command_line_is_consistent_and_every_command_has_examples() {
        Program::new().command().debug_assert();
        fn check(command: &clap::Command) {
            for command in command.get_subcommands() {
                let name = command.get_name();
                let about = command.get_about().unwrap().to_string();
                assert!(!about.ends_with('.'), "{name}: {about}");
                for arg in command.get_arguments() {
                    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                    assert!(
                        !help.is_empty() && !help.ends_with('.'),
                        "{name} {arg}: {help}"
                    );
                }
                match command.has_subcommands() {
                    true => check(command),
                    false => {
                        let after = command.get_after_help().map(ToString::to_string);
                        assert!(
                            after.is_some_and(|text| text.contains("Examples:")),
                            "{name}"
                        );
                    }
                }
            }
        }
        check(&Program::new().command());
    }

    /// The tools that `chat` and `turns resume` offer to a model.
    fn tools_of(program: Program, options: &[&str]) -> Vec<String> {
        let model = |ctx: DispatchContext| async move { Ok(ctx.ack()?) };
        let extensions = program.executor(model).extensions;
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let found = runtime.block_on(Agent::find(chat_args(options).agent, extensions, None));
        let (agent, _) = found.unwrap();
        agent
            .tools
            .iter()
            .map(|tool| tool.name().to_owned())
            .collect()
    }

    #[test]
    fn built_in_tools_can_be_left_out() {
        let with = tools_of(Program::new().tool(sells()), &[]);
        assert!(with.contains(&"read_file".to_owned()) && with.contains(&"sell".to_owned()));
        let program = || Program::new().without_builtin_tools().tool(sells());
        assert_eq!(tools_of(program(), &[]), ["sell"]);
        assert_eq!(
            tools_of(Program::new().without_builtin_tools(), &[]),
            Vec::<String>::new()
        );
        // For `tools` too: the own tool can be called, a built-in one is unknown.
        let call = ["tools", "call", "sell"];
        assert_eq!(ran(program().state(Stock(3)), &call), Exit::Done);
        let cli = cli_of(&program(), &["tools", "call", "calculate"]);
        let error = program().run(cli).unwrap_err().to_string();
        assert!(
            error.contains("no tool `calculate`") && error.contains("sell"),
            "{error}"
        );
        let cli = cli_of(
            &Program::new().without_builtin_tools(),
            &["tools", "call", "calculate"],
        );
        let error = Program::new()
            .without_builtin_tools()
            .run(cli)
            .unwrap_err()
            .to_string();
        assert!(error.contains("there are no tools"), "{error}");
    }

    #[test]
    fn a_tool_may_have_the_name_of_a_built_in_tool_that_was_left_out() {
        let own = Tool::dynamic("calculate", json!({ "type": "object" }))
            .description("Calculates.")
            .effects(Effects::ReadOnly)
            .handler(|_: serde_json::Value, _: ToolContext| async { "42" })
            .build();
        let program = Program::new().without_builtin_tools().tool(own);
        assert_eq!(ran(program, &["tools", "call", "calculate"]), Exit::Done);
    }

    #[test]
    fn options_of_built_in_tools_are_hidden_with_them() {
        let help = |program: &Program, path: &[&str]| {
            let args = [&["mine"], path, &["--help"]].concat();
            let error = program.command().try_get_matches_from(args).unwrap_err();
            error.render().to_string()
        };
        let (with, without) = (Program::new(), Program::new().without_builtin_tools());
        for path in [&["chat"][..], &["turns", "resume"], &["tools", "call"]] {
            assert!(help(&with, path).contains("--folder"), "{path:?}");
            assert!(!help(&without, path).contains("--folder"), "{path:?}");
            assert!(!help(&without, path).contains("--no-fetch"), "{path:?}");
        }
    }

    fn cli_of(program: &Program, args: &[&str]) -> Cli {
        let args = [&["mine", "--json"], args].concat();
        let matches = program.command().try_get_matches_from(args).unwrap();
        Cli::from_arg_matches(&matches).unwrap()
    }

    fn chat_args(options: &[&str]) -> args::Chat {
        let args = [&["mine", "chat"], options].concat();
        let matches = Program::new().command().try_get_matches_from(args);
        match Cli::from_arg_matches(&matches.unwrap()).unwrap().command {
            Command::Chat(given) => given,
            other => panic!("{other:?}"),
        }
    }
}
