//! The help of a program: its commands in groups, its own name in examples.

use clap::builder::StyledStr;

use crate::args;
use crate::terminal::style::paint;

/// What the help of each command says below its options. A line that begins in the first column and ends with a colon is a
/// heading.
const BELOW: &str = include_str!("help.txt");

/// Adds that text to all commands.
pub(super) fn with_text_below(command: clap::Command) -> clap::Command {
    let heading = *command.get_styles().get_header();
    below("turnwright", command, heading)
}

/// Adds it to a command of this full name, and to those of which it consists.
fn below(name: &str, command: clap::Command, heading: anstyle::Style) -> clap::Command {
    let text = BELOW.split_once(&format!("[{name}]\n"));
    let text = text.and_then(|(_, rest)| rest.split("\n[").next());
    let lines = text.unwrap_or_default().trim_end().lines();
    let lines = lines.map(|line| {
        if line.ends_with(':') && !line.starts_with(' ') {
            paint(heading, line)
        } else {
            line.to_owned()
        }
    });
    let lines: Vec<String> = lines.collect();
    let command = if lines.is_empty() {
        command
    } else {
        command.after_help(StyledStr::from(lines.join("\n")))
    };
    command.mut_subcommands(|command| {
        let name = format!("{name} {}", command.get_name());
        below(name.trim_start_matches("turnwright "), command, heading)
    })
}

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

/// Hides the options that only concern built-in tools, in all commands.
pub(super) fn hide_builtin_options(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let concerns_them = ["folder", "no_fetch"].contains(&arg.get_id().as_str());
        if concerns_them { arg.hide(true) } else { arg }
    });
    command.mut_subcommands(hide_builtin_options)
}
