//! The program.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;
use turnwright::Executor;

use clap::{CommandFactory as _, FromArgMatches as _};
use serde_json::json;
use turnwright::approval::ApprovalPolicy;
use turnwright::runner::{IntoTool, TurnRunnerBuilder};

use crate::args::{self, Cli, Command};
use crate::exit::{Exit, nobody_reads, verdict};
use crate::extensions::{CustomModel, Extensions};
use crate::terminal::Screen;
use crate::terminal::style::{self, paint};
use crate::{chat, demo, schema, serve, storage, tools, turns, wire};

/// The program `turnwright`, with tools of yours beside those that are built in.
///
/// See the [crate](crate) for an example.
#[must_use = "a program does nothing until `main` is called"]
pub struct Program {
    name: &'static str,
    version: Option<&'static str>,
    extensions: Extensions,
}

impl Program {
    /// The program with the tools that are built in.
    pub fn new() -> Self {
        Program {
            name: "turnwright",
            version: None,
            extensions: Extensions::default(),
        }
    }

    /// Under a name of yours: in its help, its examples and its completions.
    pub fn name(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// With a version of yours: `env!("CARGO_PKG_VERSION")`.
    pub fn version(mut self, version: &'static str) -> Self {
        self.version = Some(version);
        self
    }

    /// With this tool too: `tools` and `chat` know it.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.extensions.tools.push(tool.into_tool());
        self
    }

    /// With these tools too.
    pub fn tools<T: IntoTool>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, Program::tool)
    }

    /// Adds a value that handlers, policies and middleware reach by its type, through
    /// [`ToolContext::state`](turnwright::prelude::ToolContext). One value of each type. Holds for `chat`, `turns resume` and
    /// `tools call`.
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
        let setting = |runner: TurnRunnerBuilder| runner.state(value);
        self.extensions.settings.push(Box::new(setting));
        self
    }

    /// Adds a policy that decides whether a call may run. It is asked before the program's own policy, which requires approval
    /// for every tool that is not read-only. Holds for `chat`, `turns resume` and `tools call`.
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
        let setting = |runner: TurnRunnerBuilder| runner.policy(policy);
        self.extensions.settings.push(Box::new(setting));
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

    /// Reads the command line and does what it says.
    pub fn main(self) -> ExitCode {
        let cli = match self.read() {
            Ok(cli) => cli,
            Err(given) => return self.tell(&given),
        };
        cli.color.apply();
        quiet_panics();
        let json = cli.json;
        match self.carry_out(cli) {
            Ok(exit) => exit.into(),
            Err(error) if nobody_reads(&error) => ExitCode::SUCCESS,
            Err(error) => complain(&storage::explain(error), json),
        }
    }

    fn command(&self) -> clap::Command {
        let command = Cli::command().name(self.name).bin_name(self.name);
        match self.version {
            Some(version) => command.version(version),
            None => command,
        }
    }

    fn read(&self) -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&self.command().try_get_matches()?)
    }

    /// Help and versions end with 0, mistakes with 2. Whether anybody reads it is not ours to mend.
    fn tell(&self, given: &clap::Error) -> ExitCode {
        let text = self.in_its_name(&given.render().ansi().to_string());
        let _ = match given.use_stderr() {
            true => write!(anstream::stderr(), "{text}"),
            false => write!(anstream::stdout(), "{text}"),
        };
        ExitCode::from(u8::try_from(given.exit_code()).unwrap_or(2))
    }

    /// The examples in a help are of the program as it is called here.
    fn in_its_name(&self, help: &str) -> String {
        help.replace("turnwright ", &format!("{} ", self.name))
    }

    fn carry_out(self, cli: Cli) -> anyhow::Result<Exit> {
        let screen = Screen::new(cli.json);
        let command = self.command();
        let extensions = self.extensions;
        match cli.command {
            Command::Demo(given) => in_runtime(demo::run(&given, screen)),
            Command::Chat(given) => in_runtime(chat::run(given, extensions, screen)),
            Command::Turns(given) => in_runtime(turns::run(given, extensions, screen)),
            Command::Tools(given) => in_runtime(tools::run(given, extensions, screen)),
            Command::Schema(args::Schema::Check(given)) => schema::check(&given, screen),
            Command::Wire(args::Wire::Decode(given)) => wire::decode(&given, screen),
            Command::Wire(args::Wire::Replay(given)) => in_runtime(wire::replay(given, screen)),
            Command::ServeScript(given) => in_runtime(serve::run(given, screen)),
            Command::Completions(given) => complete(&given, command, self.name, screen),
        }
    }
}

fn in_runtime(work: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let exit = runtime.block_on(work);
    // A thread of a tool that cannot be stopped must not keep the program from ending.
    runtime.shutdown_background();
    exit
}

fn complete(
    given: &args::Completions,
    mut command: clap::Command,
    name: &str,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    // Into memory first: it would panic where nobody reads.
    clap_complete::generate(given.shell, &mut command, name, &mut text);
    screen.write(String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// A handler that panics has failed, and whoever called it is told so: nothing of it need be on the terminal besides. What
/// panics on the first thread is a mistake of ours, and is said in a sentence.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        if std::thread::current().name() != Some("main") {
            return;
        }
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        // Without a reader, the exit code still says it.
        let _ = writeln!(
            anstream::stderr(),
            "error: the program has a mistake, at {place}: please report it"
        );
    }));
}

/// One sentence, and never a backtrace.
fn complain(error: &anyhow::Error, json: bool) -> ExitCode {
    let (sentence, code) = verdict(error);
    let sentence = crate::terminal::plain(&sentence).into_owned();
    let text = match json {
        true => json!({ "error": { "message": sentence, "exit": code } }).to_string(),
        false => format!("{} {sentence}", paint(style::BAD, "error:")),
    };
    // Without a reader, the exit code still says it.
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
    fn a_program_of_yours_speaks_of_itself() {
        let program = Program::new().name("mine").version("0.3.1");
        let asked = |args: &[&str]| {
            let given = program.command().try_get_matches_from(args).unwrap_err();
            program.in_its_name(&given.render().to_string())
        };
        assert_eq!(asked(&["mine", "--version"]), "mine 0.3.1\n");
        for help in [
            asked(&["mine", "--help"]),
            asked(&["mine", "tools", "call", "--help"]),
        ] {
            assert!(
                help.contains("mine ") && !help.contains("turnwright "),
                "{help}"
            );
        }
    }

    /// What came of a command of a program, told to machines: nobody is asked.
    fn ran(program: Program, args: &[&str]) -> Exit {
        let args = [&["mine", "--json"], args].concat();
        let matches = program.command().try_get_matches_from(args).unwrap();
        let cli = Cli::from_arg_matches(&matches).unwrap();
        program.carry_out(cli).unwrap()
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
    fn state_and_policies_of_a_program_hold_for_its_calls() {
        let call = ["tools", "call", "sell"];
        let program = || Program::new().tool(sells());
        assert_eq!(ran(program(), &call), Exit::No, "there is no state");
        assert_eq!(ran(program().state(Stock(0)), &call), Exit::No);
        assert_eq!(ran(program().state(Stock(3)), &call), Exit::Done);
        let asks = when(|_: &PendingCall<'_>| true, "it is the last one");
        let asking = program().state(Stock(3)).policy(asks);
        assert_eq!(ran(asking, &call), Exit::No, "nobody is there to ask");
    }

    #[test]
    fn a_model_of_the_program_answers_instead_of_a_server() {
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
    fn what_a_model_of_the_program_cannot_do_is_refused() {
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
    fn a_model_of_the_program_gets_the_system_prompt() {
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

    fn chat_args(options: &[&str]) -> args::Chat {
        let args = [&["mine", "chat"], options].concat();
        let matches = Program::new().command().try_get_matches_from(args);
        match Cli::from_arg_matches(&matches.unwrap()).unwrap().command {
            Command::Chat(given) => given,
            other => panic!("{other:?}"),
        }
    }
}
