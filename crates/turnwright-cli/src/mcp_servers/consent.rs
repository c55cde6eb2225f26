//! A configuration starts programs and sends data to servers, so a person must have agreed to it. The answer is bound to the path
//! and the text of the file.

use super::config::{Config, Entry};
use crate::exit::misuse;
use crate::storage::Consents;
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, confirm, one_line, plain, shell_path, shell_word};

/// Parts of the names of variables whose values are not shown.
const SECRETS: &[&str] = &["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];

/// The margin of text from the configuration.
const QUOTED: &str = "  │ ";

/// The most characters of a value.
const MAX_VALUE: usize = 80;

/// How an answer is got if there is none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Ask at the terminal, if there is one.
    Person,
    /// The user has agreed on the command line.
    Agreed,
}

/// Whether a person has agreed to this text of the configuration.
pub(crate) fn is_given(config: &Config) -> anyhow::Result<bool> {
    Ok(Consents::read()?.contains(&config.path, &config.digest))
}

/// Returns once a person has agreed to the configuration.
///
/// # Errors
/// The person does not agree, or there is no terminal to ask.
pub(crate) async fn require(config: &Config, ask: Ask, screen: &mut Screen) -> anyhow::Result<()> {
    if is_given(config)? {
        return Ok(());
    }
    screen.rest();
    let agreed = match ask {
        Ask::Agreed => true,
        Ask::Person if screen.is_interactive() => {
            show(config, screen)?;
            confirm("  Use these servers? yes or no: ").await?
        }
        Ask::Person => return Err(no_terminal(config)),
    };
    match agreed {
        true => Consents::read()?.add(&config.path, &config.digest),
        false => Err(anyhow::anyhow!(
            "the servers of `{}` were not started, because you did not agree",
            config.file.display()
        )),
    }
}

fn no_terminal(config: &Config) -> anyhow::Error {
    misuse(format!(
        "the MCP configuration `{}` is new or has changed, and there is no terminal to ask whether its servers may be used. \
         Review it, then run `turnwright mcp trust --mcp {}` (with `--yes` in a script)",
        config.file.display(),
        shell_path(&config.file)
    ))
}

/// Shows what the configuration does.
pub(crate) fn show(config: &Config, screen: &mut Screen) -> anyhow::Result<()> {
    let file = config.file.display().to_string();
    screen.warn(format!(
        "{} uses these MCP servers. Programs run with all of your permissions:",
        plain(&file)
    ))?;
    for (alias, entry) in &config.servers {
        let name = paint(style::NAME, one_line(alias, 24));
        screen.line(format_args!("  {name}"))?;
        let mut look = style::BOLD;
        for fact in facts(entry) {
            screen.quoting(look, QUOTED, QUOTED, &fact)?;
            look = style::DIM;
        }
    }
    screen.dim("  Your answer is stored, and asked for again when the file changes.")?;
    Ok(())
}

/// The command line or URL, then what else the server gets. Variables are not expanded.
fn facts(entry: &Entry) -> Vec<String> {
    let words = |words: Vec<String>| words.join(" ");
    let mut facts = Vec::new();
    match (&entry.command, &entry.url) {
        (Some(command), _) => {
            let all = std::iter::once(command).chain(&entry.args);
            facts.push(words(all.map(shell_word).collect()));
        }
        (None, url) => facts.push(one_line(url.as_deref().unwrap_or_default(), 1_000)),
    }
    if let Some(cwd) = &entry.cwd {
        facts.push(format!("in {}", shell_word(cwd)));
    }
    let env = entry
        .env
        .0
        .iter()
        .map(|(name, value)| variable(name, value));
    let inherited = entry.inherit_env.iter().map(|name| one_line(name, 64));
    let env: Vec<String> = env.chain(inherited).collect();
    if !env.is_empty() {
        facts.push(format!("environment: {}", words(env)));
    }
    if !entry.headers.0.is_empty() {
        let names = entry.headers.0.iter().map(|(name, _)| one_line(name, 64));
        facts.push(format!("headers: {}", words(names.collect())));
    }
    if entry.believe_annotations {
        let text = "believes tools that say that they only read: they run without approval";
        facts.push(text.to_owned());
    }
    facts
}

/// A variable with its value, which is hidden if the name says that it is a secret.
fn variable(name: &str, value: &str) -> String {
    let upper = name.to_uppercase();
    let is_secret = SECRETS.iter().any(|part| upper.contains(part));
    // A reference to another variable says where the secret comes from, and not what it is.
    let is_reference = value.starts_with("${") && value.ends_with('}') && !value.contains(":-");
    let value = match is_secret && !is_reference {
        true => "…".to_owned(),
        false => one_line(&shell_word(value), MAX_VALUE),
    };
    format!("{}={value}", one_line(name, 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        for (name, value, expected) in [
            ("API_KEY", "hunter2", "API_KEY=…"),
            ("github_token", "hunter2", "github_token=…"),
            ("API_KEY", "${MY_KEY}", "API_KEY='${MY_KEY}'"),
            ("API_KEY", "${MY_KEY:-hunter2}", "API_KEY=…"),
            (
                "NODE_OPTIONS",
                "--require ./x.js",
                "NODE_OPTIONS='--require ./x.js'",
            ),
            ("A", "x\u{1b}[2J", r"A=$'x\033[2J'"),
        ] {
            assert_eq!(variable(name, value), expected);
        }
    }
}
