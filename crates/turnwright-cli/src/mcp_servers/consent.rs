//! A configuration starts programs and sends data to servers, so a person must have agreed to it. The answer is bound to the path
//! and the text of the file, and to the command lines and addresses after variables were expanded.

use std::fmt;

use super::config::{Config, Entry};
use super::expand::variables;
use super::login::Login;
use crate::exit::misuse;
use crate::storage::{Consent, Consents};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, confirm, one_line, plain, shell_path, shell_word};

/// Parts of the names of variables whose values are not shown.
const SECRETS: &[&str] = &["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];

/// The margin of text from the configuration.
const QUOTED: &str = "  │ ";

/// The fewest characters of a value that can be a key or a token.
const MIN_SECRET: usize = 8;

/// Why a person must agree to a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The file was not used before.
    New,
    /// The text of the file has changed.
    Text,
    /// Values with these keys have changed, because variables in them have.
    Expanded(Vec<String>),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::New => f.write_str("is new"),
            Missing::Text => f.write_str("has changed since you agreed to it"),
            Missing::Expanded(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                let keys = keys.join(", ");
                write!(
                    f,
                    "has other values than when you agreed to it: variables have changed {keys}"
                )
            }
        }
    }
}

/// Why a person must agree to this configuration, if they must.
pub(crate) fn missing(config: &Config) -> anyhow::Result<Option<Missing>> {
    let now = consent(config)?;
    let consents = Consents::read()?;
    Ok(match consents.of(&config.path) {
        None => Some(Missing::New),
        Some(given) if given.file != now.file => Some(Missing::Text),
        Some(given) if given.expanded == now.expanded => None,
        Some(given) => {
            let changed = now.expanded.iter();
            let changed = changed.filter(|(key, digest)| given.expanded.get(*key) != Some(digest));
            Some(Missing::Expanded(
                changed.map(|(key, _)| key.clone()).collect(),
            ))
        }
    })
}

fn consent(config: &Config) -> anyhow::Result<Consent> {
    Ok(Consent {
        file: config.digest.clone(),
        expanded: config.expanded()?,
    })
}

/// Returns once a person has agreed to the configuration: on the command line, or at the terminal.
///
/// # Errors
/// The person does not agree, or there is no terminal to ask.
pub(crate) async fn require(
    config: &Config,
    agreed: bool,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    // What a person agrees to must be possible.
    config.servers(false)?;
    let Some(missing) = missing(config)? else {
        return Ok(());
    };
    screen.rest();
    if !agreed && !screen.is_interactive() {
        return Err(no_terminal(config, &missing));
    }
    if !agreed {
        show(config, &missing, screen)?;
    }
    if agreed || confirm("  Use these servers? yes or no: ").await? {
        Consents::read()?.add(&config.path, consent(config)?)
    } else {
        Err(anyhow::anyhow!(
            "the servers of `{}` were not started, because you did not agree",
            config.file.display()
        ))
    }
}

fn no_terminal(config: &Config, missing: &Missing) -> anyhow::Error {
    misuse(format!(
        "the MCP configuration `{}` {missing}, and there is no terminal to ask whether its servers may be used. Review it, then \
         run `turnwright mcp trust --mcp {}` (with `--yes` in a script)",
        config.file.display(),
        shell_path(&config.file)
    ))
}

/// Shows what the configuration does.
fn show(config: &Config, missing: &Missing, screen: &mut Screen) -> anyhow::Result<()> {
    let file = config.file.display().to_string();
    if *missing != Missing::New {
        screen.warn(format!("{} {}.", plain(&file), plain(&missing.to_string())))?;
    }
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
    screen.dim(
        "  Your answer is stored. You are asked again when the file changes, or a variable in a command line or an address.",
    )?;
    Ok(())
}

/// The command line or URL as it is in the file, then the variables in it, then what else the server gets.
fn facts(entry: &Entry) -> Vec<String> {
    let words = |words: Vec<String>| words.join(" ");
    let mut facts = Vec::new();
    match (&entry.command, &entry.url) {
        (Some(command), _) => {
            let all = std::iter::once(command).chain(&entry.args);
            facts.push(words(all.map(shell_word).collect()));
        }
        (None, url) => facts.push(one_line(url.as_deref().unwrap_or_default(), usize::MAX)),
    }
    if let Some(cwd) = &entry.cwd {
        facts.push(format!("in {}", shell_word(cwd)));
    }
    if !entry.roots.is_empty() {
        let roots = entry.roots.iter().map(shell_word);
        facts.push(format!("roots: {}", words(roots.collect())));
    }
    let variables = entry.places().flat_map(|(_, text)| variables(text));
    let mut variables: Vec<String> = variables
        .map(|(name, value)| of_user(name, &value))
        .collect();
    variables.sort_unstable();
    variables.dedup();
    if !variables.is_empty() {
        facts.push(format!("with {}", words(variables)));
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
        let headers = entry.headers.0.iter();
        let headers = headers.map(|(name, value)| variable(name, value));
        facts.push(format!("headers: {}", words(headers.collect())));
    }
    if let Some(Login::Settings(settings)) = &entry.oauth {
        let texts = settings.texts();
        let texts = texts.filter_map(|(key, text)| Some(variable(key, text?)));
        let texts: Vec<String> = texts.collect();
        if !texts.is_empty() {
            facts.push(format!("oauth: {}", words(texts)));
        }
    }
    if entry.believe_annotations {
        let text = "believes tools that say that they only read: they run without approval";
        facts.push(text.to_owned());
    }
    facts
}

/// A variable of the user with its value, which is hidden if the name says that it is a secret.
fn of_user(name: &str, value: &str) -> String {
    if is_named_secret(name) {
        format!("{}=…", one_line(name, 64))
    } else {
        shown(name, &shell_word(value))
    }
}

fn is_named_secret(name: &str) -> bool {
    let upper = name.to_uppercase();
    SECRETS.iter().any(|part| upper.contains(part))
}

fn shown(name: &str, value: &str) -> String {
    format!("{}={}", one_line(name, 64), one_line(value, usize::MAX))
}

/// A variable or a header with its value. The author of the file has written the value, and it may make a program run another one,
/// so all of it is shown. Only if its name and its letters are those of a key, the end is not.
fn variable(name: &str, value: &str) -> String {
    let token = value.rsplit(' ').next().unwrap_or_default();
    let is_opaque = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_');
    let has_digit = token.chars().any(|ch| ch.is_ascii_digit());
    let is_token = token.len() >= MIN_SECRET && has_digit && token.chars().all(is_opaque);
    if !(is_named_secret(name) && is_token) {
        return shown(name, &shell_word(value));
    }
    let hidden = token.len() - 2;
    let start = value.get(..value.len() - hidden).unwrap_or_default();
    let start = shell_word(format!("{start}…"));
    shown(name, &format!("{start} ({hidden} characters are hidden)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        for (name, value, expected) in [
            (
                "API_KEY",
                "sk-0123456789abcdef",
                "API_KEY='sk…' (17 characters are hidden)",
            ),
            (
                "Authorization",
                "Bearer 0123456789abcdef",
                "Authorization='Bearer 01…' (14 characters are hidden)",
            ),
            ("API_KEY", "${MY_KEY}", "API_KEY='${MY_KEY}'"),
            ("X-Client", "${AWS_SECRET}", "X-Client='${AWS_SECRET}'"),
            // Programs that are run by others.
            (
                "GIT_ASKPASS",
                "./a-program-of-theirs",
                "GIT_ASKPASS=./a-program-of-theirs",
            ),
            (
                "GIT_CONFIG_KEY_0",
                "core.sshCommand",
                "GIT_CONFIG_KEY_0=core.sshCommand",
            ),
            (
                "NODE_OPTIONS",
                "--require ./x.js",
                "NODE_OPTIONS='--require ./x.js'",
            ),
            ("A", "x\u{1b}[2J", r"A=$'x\033[2J'"),
        ] {
            assert_eq!(variable(name, value), expected);
        }
        assert_eq!(of_user("API_KEY", "hunter2"), "API_KEY=…");
        assert_eq!(of_user("WHAT", "--list"), "WHAT=--list");
    }
}
