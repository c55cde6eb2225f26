//! The program.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use serde_json::json;
use turnwright::turn::IntoTool;
use turnwright::{Error, Tool};

use crate::args::{self, Cli, Command};
use crate::exit::{Exit, nobody_reads, verdict};
use crate::terminal::Screen;
use crate::terminal::style::{self, paint};
use crate::{chat, demo, schema, serve, tools, wire};

/// The program `turnwright`, with tools of yours beside those that are built in.
///
/// See the [crate](crate) for an example.
#[derive(Debug, Default)]
#[must_use = "a program does nothing until `main` is called"]
pub struct Program {
    tools: Vec<Result<Tool, Error>>,
}

impl Program {
    /// The program with the tools that are built in.
    pub fn new() -> Self {
        Program::default()
    }

    /// With this tool too: `tools` and `chat` know it.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.tools.push(tool.into_tool());
        self
    }

    /// With these tools too.
    pub fn tools<T: IntoTool>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, Program::tool)
    }

    /// Reads the command line and does what it says.
    pub fn main(self) -> ExitCode {
        let cli = match Cli::try_parse() {
            Ok(cli) => cli,
            Err(told) => {
                // Help and versions end with 0, mistakes with 2. Whether anybody reads it is not ours to mend.
                let _ = told.print();
                return ExitCode::from(u8::try_from(told.exit_code()).unwrap_or(2));
            }
        };
        cli.color.apply();
        let json = cli.json;
        match self.carry_out(cli) {
            Ok(exit) => exit.into(),
            Err(error) if nobody_reads(&error) => ExitCode::SUCCESS,
            Err(error) => complain(&error, json),
        }
    }

    fn carry_out(self, cli: Cli) -> anyhow::Result<Exit> {
        let screen = Screen::new(cli.json);
        let own = || self.tools.into_iter().collect::<Result<Vec<Tool>, Error>>();
        match cli.command {
            Command::Demo(told) => in_runtime(demo::run(&told, screen)),
            Command::Chat(told) => in_runtime(chat::run(told, own()?, screen)),
            Command::Tools(told) => in_runtime(tools::run(told, own()?, screen)),
            Command::Schema(args::Schema::Check(told)) => schema::check(&told, screen),
            Command::Wire(args::Wire::Decode(told)) => wire::decode(&told, screen),
            Command::Wire(args::Wire::Replay(told)) => in_runtime(wire::replay(told, screen)),
            Command::ServeScript(told) => in_runtime(serve::run(told, screen)),
            Command::Completions(told) => complete(&told, screen),
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

fn complete(told: &args::Completions, mut screen: Screen) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    // Into memory first: it would panic where nobody reads.
    clap_complete::generate(told.shell, &mut Cli::command(), "turnwright", &mut text);
    screen.write(String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// One sentence, and never a backtrace.
fn complain(error: &anyhow::Error, json: bool) -> ExitCode {
    let (sentence, code) = verdict(error);
    let sentence = crate::terminal::plain(&sentence).into_owned();
    let mut err = anstream::stderr();
    let text = match json {
        true => json!({ "error": { "message": sentence, "exit": code } }).to_string(),
        false => format!("{} {sentence}", paint(style::BAD, "error:")),
    };
    // If nobody can be told, the code still says it.
    let _ = std::io::Write::write_fmt(&mut err, format_args!("{text}\n"));
    ExitCode::from(code)
}
