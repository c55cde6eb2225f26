//! The builder, the command line and what a program adds.

use serde_json::json;
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
    let program =
        Program::new()
            .tool(sells())
            .state(Stock(3))
            .executor(|ctx: DispatchContext| async move {
                let sold = ctx.call("sell", "{}").await;
                ctx.answer(sold.text().await.unwrap_or_default()).await?;
                Ok(())
            });
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
            if command.has_subcommands() {
                check(command);
            } else {
                let after = command.get_after_help().map(ToString::to_string);
                assert!(
                    after.is_some_and(|text| text.contains("Examples:")),
                    "{name}"
                );
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
    let cli = cli_of(&program(), &["tools", "call", "list_files"]);
    let error = program().run(cli).unwrap_err().to_string();
    assert!(
        error.contains("no tool `list_files`") && error.contains("sell"),
        "{error}"
    );
    let cli = cli_of(
        &Program::new().without_builtin_tools(),
        &["tools", "call", "list_files"],
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
    let own = Tool::dynamic("list_files", json!({ "type": "object" }))
        .description("Lists.")
        .effects(Effects::ReadOnly)
        .handler(|_: serde_json::Value, _: ToolContext| async { "42" })
        .build();
    let program = Program::new().without_builtin_tools().tool(own);
    assert_eq!(ran(program, &["tools", "call", "list_files"]), Exit::Done);
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
