//! `new`, `doctor`, `completions` and `man`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::StoreFile;

/// Create a package with an agent, a tool, a test and a README
///
/// The test uses a scripted model: it needs no API key and no network. Existing files are never overwritten.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// Name of the package, and of the directory that is created
    pub(crate) name: String,
    /// Depend on the crates of this checkout of Turnwright [default: the checkout that this program was built from, otherwise the published version]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,
}

/// Check the compiler, the model server, the API key, the store and the terminal
///
/// Connects only to the configured model server (`--base-url`, or the variable of the provider: OPENAI_BASE_URL). Without one,
/// it checks for a server on this machine. The API key is never printed.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Base URL of the model server, including `/v1` [default: OPENAI_BASE_URL or the variable of the provider, else
    /// http://127.0.0.1:8080/v1]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) base_url: Option<String>,
    /// Model that the server should have, or PROVIDER:MODEL
    #[arg(long, env = "OPENAI_MODEL", value_name = "NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) storage: StoreFile,
}

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Shell to print completions for
    pub(crate) shell: clap_complete::Shell,
}

/// Print the man page, or write one page per command
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page for each command into this directory [default: print the main page]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
