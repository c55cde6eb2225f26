//! The command line: commands, options and their help.

mod agent;
mod inspect;
mod mcp;
mod setup;
mod turns;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

pub(crate) use agent::{Agent, Chat, Demo, Models, StoreFile, ToolFiles};
pub(crate) use inspect::{
    CallOptions, Schema, SchemaCheck, ServeScript, Sources, Tools, ToolsFuzz, ToolsId, Wire,
    WireDecode,
};
pub(crate) use mcp::{DEFAULT_BUDGET, Mcp, McpCall, McpFile, McpOptions, McpServe};
pub(crate) use setup::{Completions, Doctor, Man, New};
pub(crate) use turns::{
    ResumeOptions, Turns, TurnsAnswer, TurnsDelete, TurnsExport, TurnsList, TurnsResume, TurnsShow,
    WhichTurns,
};

use crate::terminal::Colour;

/// The colours of the help, as in `cargo`.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// The commands of the overview, by what they are for. Tests check that none is missing.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Get started", &["demo", "new", "doctor"]),
    ("Run agents", &["chat", "models", "turns"]),
    (
        "Inspect and test",
        &["tools", "mcp", "schema", "wire", "serve-script"],
    ),
    ("Set up your shell", &["completions", "man", "help"]),
];

/// `{before-help}` has the commands in groups: clap itself prints them as one list.
const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}\x1b[1m\x1b[32mOptions:\x1b[0m\n{options}{after-help}";

/// Build, run and inspect agents whose tools have one enforced schema
#[derive(Debug, Parser)]
#[command(
    name = "turnwright",
    version,
    arg_required_else_help = true,
    styles = STYLES,
    help_template = TEMPLATE,
)]
pub(crate) struct Cli {
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// Print JSON, one value per line, instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    New(New),
    Doctor(Doctor),
    Chat(Chat),
    Models(Models),
    #[command(subcommand)]
    Turns(Turns),
    #[command(subcommand)]
    Tools(Tools),
    #[command(subcommand)]
    Mcp(Mcp),
    #[command(subcommand)]
    Schema(Schema),
    #[command(subcommand)]
    Wire(Wire),
    ServeScript(ServeScript),
    Completions(Completions),
    Man(Man),
}
