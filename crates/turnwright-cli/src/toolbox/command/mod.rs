//! Tools that are external programs, described by a tools file.

mod run;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use turnwright::Effects;
use turnwright::artifact::ArtifactKind;
use turnwright::prelude::*;
use turnwright_mcp::process::{Environment, Program};

use crate::exit::misuse;
use crate::text;

/// A tool in a tools file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: String,
    description: String,
    parameters: Value,
    command: Vec<String>,
    #[serde(default)]
    effects: DeclaredEffects,
    #[serde(default = "default_timeout")]
    timeout_secs: u64,
    #[serde(default)]
    kind: OutputKind,
    /// Environment variables to pass to the program, by name.
    #[serde(default)]
    env: Vec<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DeclaredEffects {
    ReadOnly,
    #[default]
    Writes,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutputKind {
    #[default]
    Text,
    Json,
    Markdown,
}

fn default_timeout() -> u64 {
    60
}

/// Reads a tools file.
pub(super) fn tools(file: &Path) -> anyhow::Result<Vec<Tool>> {
    let text = text::configuration(file, text::TOOLS_FILE)?;
    let shown = file.display();
    let wrong = |why: String| {
        misuse(format!(
            "invalid tools file `{shown}`: {why}. See `turnwright tools --help` for the format"
        ))
    };
    let described: Vec<Described> =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let folder = folder_of(file);
    let made = described.into_iter().enumerate().map(|(at, described)| {
        let made = described.into_tool(&folder);
        made.map_err(|why| wrong(format!("tool {}: {why}", at + 1)))
    });
    made.collect()
}

impl Described {
    fn into_tool(self, folder: &Path) -> Result<Tool, String> {
        let Some((program, args)) = self.command.split_first() else {
            return Err(format!(
                "the `command` of `{}` is empty; it needs a program and its arguments",
                self.name
            ));
        };
        let mut names = self.env.into_iter();
        let environment = names
            .try_fold(Environment::default(), Environment::inherit)
            .map_err(|why| format!("the `env` of `{}`: {why}", self.name))?;
        let program = Program::new(program_path(program, folder)).args(args);
        let program = Arc::new(program.environment(environment));
        let effects = match self.effects {
            DeclaredEffects::ReadOnly => Effects::ReadOnly,
            DeclaredEffects::Writes => Effects::Writes,
        };
        let kind = match self.kind {
            OutputKind::Text => ArtifactKind::TEXT,
            OutputKind::Json => ArtifactKind::JSON,
            OutputKind::Markdown => ArtifactKind::MARKDOWN,
        };
        Tool::dynamic(self.name, self.parameters)
            .description(self.description)
            .effects(effects)
            .timeout(Duration::from_secs(self.timeout_secs))
            .artifact_kind(kind)
            .handler(move |args: Value, ctx: ToolContext| {
                let program = Arc::clone(&program);
                async move { run::run(&program, &args, &ctx).await }
            })
            .build()
            .map_err(|error| error.message().to_owned())
    }
}

/// A path with a slash is relative to the folder of the file that names it. Any other name is looked up in `PATH`.
pub(crate) fn program_path(program: &str, folder: &Path) -> PathBuf {
    if program.contains(std::path::is_separator) {
        folder.join(program)
    } else {
        PathBuf::from(program)
    }
}

/// The absolute directory of a file.
fn folder_of(file: &Path) -> PathBuf {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}
