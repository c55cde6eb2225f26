//! `turnwright man`: man pages.

use std::fs;
use std::io;
use std::path::Path;

use clap_mangen::Man;
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
        screen.write(page(&Man::new(command), &rename)?)?;
        return Ok(Exit::Done);
    };
    let pages = write_pages(&command, &rename, dir)
        .map_err(|error| misuse(format!("cannot write to `{}`: {error}", dir.display())))?;
    match screen.is_json() {
        true => screen.value(&json!({ "dir": dir, "pages": pages }))?,
        false => screen.line(format_args!(
            "Wrote {} to {}",
            plural(pages, "man page"),
            dir.display()
        ))?,
    }
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
        let man = Man::new(command.clone());
        fs::write(dir.join(man.get_filename()), page(&man, rename)?)?;
        pages += 1;
    }
    Ok(pages)
}

fn page(man: &Man, rename: &impl Fn(&str) -> String) -> io::Result<String> {
    let mut bytes = Vec::new();
    man.render(&mut bytes)?;
    // The text after the help is examples for the most part.
    let text = String::from_utf8_lossy(&bytes).replace(".SH EXTRA", ".SH EXAMPLES AND NOTES");
    Ok(rename(&text))
}
