//! `turnwright man`: man pages.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::json;

use crate::args;
use crate::exit::{Exit, misuse};
use crate::terminal::Screen;
use crate::units::plural;

/// Prints the main page, or writes all pages. `rename` puts the name of the program into the examples.
pub(crate) fn run(
    options: &args::Man,
    command: clap::Command,
    rename: impl Fn(&str) -> String,
    mut screen: Screen,
) -> anyhow::Result<Exit> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let Some(dir) = &options.dir else {
        screen.content(page(&command, &rename).as_bytes())?;
        return Ok(Exit::Done);
    };
    let pages = write_pages(&command, &rename, dir)
        .map_err(|error| misuse(format!("cannot write to `{}`: {error}", dir.display())))?;
    screen.value(&json!({ "dir": dir, "pages": pages }))?;
    let (pages, dir) = (plural(pages, "man page"), dir.display());
    screen.line(format_args!("Wrote {pages} to {dir}"))?;
    Ok(Exit::Done)
}

/// Writes a page for the program and each of its commands. Returns their number.
fn write_pages(
    command: &clap::Command,
    rename: &impl Fn(&str) -> String,
    dir: &Path,
) -> io::Result<u64> {
    fs::create_dir_all(dir)?;
    let mut pages = 0;
    let mut pending = vec![command];
    while let Some(command) = pending.pop() {
        pending.extend(command.get_subcommands());
        fs::write(
            dir.join(format!("{}.1", name(command))),
            page(command, rename),
        )?;
        pages += 1;
    }
    Ok(pages)
}

/// A page: the long help of a command, as it is printed, under the headings of a man page.
fn page(command: &clap::Command, rename: &impl Fn(&str) -> String) -> String {
    let mut command = command.clone().term_width(76);
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let usage = command.render_usage().to_string();
    let help = command.render_long_help().to_string();
    let commands: Vec<String> = command
        .get_subcommands()
        .map(|command| format!("{}(1)", name(command)))
        .collect();
    let see_also = match commands.as_slice() {
        [] => String::new(),
        commands => format!(".SH SEE ALSO\n{}\n", roff(&commands.join(", "))),
    };
    let name = name(&command);
    rename(&format!(
        ".TH {name} 1\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.nf\n{}\n.fi\n.SH DESCRIPTION, OPTIONS AND EXAMPLES\n.nf\n{}\n.fi\n{see_also}",
        roff(&name),
        roff(&about),
        roff(usage.trim_start_matches("Usage: ")),
        roff(&help),
    ))
}

/// The name of a page: `turnwright-turns-list`.
fn name(command: &clap::Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    name.replace(' ', "-")
}

/// Text that roff prints as it is.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A line that begins with a dot or a quote would be a command.
    let lines = text.lines().map(|line| match line.chars().next() {
        Some('.' | '\'') => format!("\\&{line}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
