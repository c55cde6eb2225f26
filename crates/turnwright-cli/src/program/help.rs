//! The help of a program: its commands in groups, its own name in examples.

use clap::builder::StyledStr;

use crate::args;
use crate::terminal::style::paint;

/// Replaces the default name in examples by the name of this program.
pub(super) fn with_name(text: &str, name: &str) -> String {
    text.replace("turnwright ", &format!("{name} "))
}

/// The commands in groups, for the help of the program.
pub(super) fn overview(command: &clap::Command) -> StyledStr {
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
pub(super) fn hide_builtin_options(command: clap::Command) -> clap::Command {
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
