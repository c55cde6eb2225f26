//! The configuration: servers in the `mcpServers` shape that other programs use too.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::json;
use turnwright::call::digest_of;
use turnwright_mcp::process::{Environment, Program};
use turnwright_mcp::{Limits, Mcp, McpServer, OAuth};

use super::expand::expanded;
use super::keys;
use super::login::{Login, Settings, login};
use crate::exit::misuse;
use crate::storage::mcp_tokens;
use crate::terminal::{one_line, plain};
use crate::text;
use crate::toolbox::program_path;

/// A configuration, as it is in its file: variables are not expanded.
pub(crate) struct Config {
    /// The file, as it was given.
    pub(crate) file: PathBuf,
    /// Its full path.
    pub(crate) path: PathBuf,
    /// Digest of the path and the text.
    pub(crate) digest: String,
    /// The servers that are not disabled.
    pub(crate) servers: Vec<(String, Entry)>,
    /// Keys without an effect.
    idle_keys: Vec<String>,
    /// Whether there are other configurations, so that messages must name the file of a server.
    pub(crate) is_one_of_many: bool,
}

/// The file.
#[derive(serde::Deserialize)]
pub(super) struct Document {
    #[serde(rename = "mcpServers")]
    pub(super) servers: Option<Pairs<Entry>>,
    #[serde(flatten)]
    pub(super) unknown: Pairs<IgnoredAny>,
}

/// A server in the file. [`keys`] lists the keys.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    #[serde(rename = "type")]
    kind: Option<Kind>,
    pub(super) command: Option<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: Pairs<String>,
    #[serde(default)]
    pub(super) inherit_env: Vec<String>,
    pub(super) cwd: Option<String>,
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) headers: Pairs<String>,
    allow: Option<Vec<String>>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    pub(crate) optional: bool,
    #[serde(default)]
    pub(super) believe_annotations: bool,
    #[serde(default)]
    resources: bool,
    #[serde(default)]
    pub(super) roots: Vec<String>,
    #[serde(default)]
    use_instructions: bool,
    #[serde(default)]
    reads_private: bool,
    #[serde(default)]
    sends_out: bool,
    #[serde(default)]
    pub(super) quarantine: bool,
    /// How to log in. Default: automatically, if the server asks for it and gets no `Authorization` header.
    pub(super) oauth: Option<Login>,
    #[serde(default)]
    disabled: bool,
    timeout_seconds: Option<NonZero<u32>>,
    #[serde(flatten)]
    pub(super) unknown: Pairs<IgnoredAny>,
}

#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Stdio,
    #[serde(alias = "streamable-http", alias = "streamableHttp")]
    Http,
    Sse,
}

impl Config {
    /// Reads a configuration.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = text::configuration(file, text::MCP_CONFIG)?;
        let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let digest = digest_of(&json!({ "path": path.to_string_lossy(), "text": text }));
        let mut config = Config {
            file: file.to_owned(),
            path,
            digest,
            servers: Vec::new(),
            idle_keys: Vec::new(),
            is_one_of_many: false,
        };
        let document: Document = parse(&text).map_err(|why| config.wrong(&why))?;
        let Some(Pairs(servers)) = document.servers else {
            let mut unknown = document.unknown.0.iter();
            let hint = if unknown.any(|(key, _)| key == "servers") {
                "it has `servers`; rename it to `mcpServers`"
            } else {
                "it has no `mcpServers`"
            };
            return Err(config.wrong(hint));
        };
        for (alias, entry) in &servers {
            let checked = entry.check();
            checked.map_err(|why| config.wrong(&format!("`mcpServers.{alias}`: {why}")))?;
        }
        let idle_keys = keys::check(&document.unknown, &servers);
        config.idle_keys = idle_keys.map_err(|why| config.wrong(&why))?;
        config.servers = servers;
        config.servers.retain(|(_, entry)| !entry.disabled);
        if config.servers.is_empty() {
            Err(config.wrong("it has no servers, or all of them are disabled"))
        } else {
            Ok(config)
        }
    }

    /// Reads several configurations.
    ///
    /// # Errors
    /// One of them is invalid, or two of them have a server with the same alias or use the same lock file.
    pub(crate) fn read_all(files: &[PathBuf]) -> anyhow::Result<Vec<Self>> {
        let mut configs: Vec<Config> = Vec::new();
        for file in files {
            let config = Config::read(file)?;
            for other in &configs {
                config.check_beside(other)?;
            }
            configs.push(config);
        }
        let is_one_of_many = configs.len() > 1;
        for config in &mut configs {
            config.is_one_of_many = is_one_of_many;
        }
        Ok(configs)
    }

    fn check_beside(&self, other: &Config) -> anyhow::Result<()> {
        let (one, two) = (other.file.display(), self.file.display());
        if self.path == other.path {
            return Err(misuse(format!(
                "`{one}` and `{two}` are the same MCP configuration. Pass it once"
            )));
        }
        let mut aliases = self.servers.iter().map(|(alias, _)| alias);
        let is_there = |alias: &&String| other.servers.iter().any(|(item, _)| item == *alias);
        if let Some(alias) = aliases.find(is_there) {
            return Err(misuse(format!(
                "both `{one}` and `{two}` have an MCP server called `{alias}`. Rename one of them"
            )));
        }
        let lock = super::lock_file(self);
        if lock == super::lock_file(other) {
            Err(misuse(format!(
                "the lock file of both `{one}` and `{two}` would be `{}`. Rename one of them",
                lock.display()
            )))
        } else {
            Ok(())
        }
    }

    /// The digests of command lines and addresses with variables, after these were expanded, by their keys. Values in `env`, `headers`
    /// and of logins are left out: they may be secrets, and say neither what is started nor where data go.
    pub(crate) fn expanded(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut digests = BTreeMap::new();
        for (alias, entry) in &self.servers {
            let server = format!("mcpServers.{alias}");
            for (key, text) in entry.places().filter(|(_, text)| text.contains("${")) {
                let value = expanded(&key, text);
                let value = value.map_err(|why| self.wrong(&format!("`{server}`{why}")))?;
                let place = format!("{server}.{key}");
                // With the path and the key, so that equal secrets have different digests.
                let digest =
                    json!({ "path": self.path.to_string_lossy(), "key": place, "value": value });
                digests.insert(place, digest_of(&digest));
            }
        }
        Ok(digests)
    }

    /// The servers, with variables expanded. `attended` says whether a person can be asked to log in.
    pub(crate) fn servers(&self, attended: bool) -> anyhow::Result<Vec<McpServer>> {
        let tokens = mcp_tokens()?;
        let servers = self.servers.iter().map(|(alias, entry)| {
            let server = entry.server(alias, self.folder());
            let checked = server.and_then(|server| {
                let check = |server: &McpServer| {
                    let checked = Mcp::new([server.clone()]).check();
                    checked.map_err(|error| {
                        let message = error.message();
                        let reason = message.strip_prefix("invalid MCP settings: ");
                        format!(": {}", reason.unwrap_or(message))
                    })
                };
                check(&server)?;
                let Some(oauth) = entry.login(&tokens, attended)? else {
                    return Ok(server);
                };
                let with_login = server.clone().oauth(oauth);
                match check(&with_login) {
                    Ok(()) => Ok(with_login),
                    // Tokens are not sent without encryption; such a server may need none.
                    Err(_) if entry.oauth.is_none() => Ok(server),
                    Err(why) => Err(why),
                }
            });
            checked.map_err(|why| self.wrong(&format!("`mcpServers.{alias}`{why}")))
        });
        servers.collect()
    }

    /// The name of a server in messages, with its file if there are several.
    pub(crate) fn label(&self, alias: &str) -> String {
        if self.is_one_of_many {
            format!("{alias} ({})", super::shown(&self.file))
        } else {
            alias.to_owned()
        }
    }

    /// Why a server is down, on one line and without secrets.
    pub(crate) fn why_down(&self, reason: &str) -> String {
        one_line(&self.redacted(reason), 500)
    }

    /// Warnings about keys without an effect.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let file = self.file.display();
        let keys = self.idle_keys.iter();
        keys.map(|text| plain(&format!("{file}: {text}")).into_owned())
            .collect()
    }

    /// The directory of the file.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    fn wrong(&self, why: &str) -> anyhow::Error {
        misuse(format!(
            "invalid MCP configuration `{}`: {why}. See `turnwright mcp --help` for the format",
            self.file.display()
        ))
    }
}

impl Entry {
    /// Whether it is an HTTP server.
    pub(crate) fn is_http(&self) -> bool {
        self.url.is_some()
    }

    /// Whether a person can log in: it is not switched off, and no token is configured.
    pub(crate) fn can_log_in(&self) -> bool {
        let mut headers = self.headers.0.iter();
        let has_token = headers.any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        match &self.oauth {
            None => self.is_http() && !has_token,
            Some(Login::Switch(is_on)) => *is_on,
            Some(Login::Settings(_)) => true,
        }
    }

    /// Checks that it is either a program or an HTTP server.
    fn check(&self) -> Result<(), String> {
        let is_web = match (&self.command, &self.url) {
            (Some(_), Some(_)) => return Err("it has both `command` and `url`".to_owned()),
            (None, None) => return Err("it has neither `command` nor `url`".to_owned()),
            (_, url) => url.is_some(),
        };
        let keys = [
            ("args", !self.args.is_empty(), false),
            ("env", !self.env.0.is_empty(), false),
            ("inheritEnv", !self.inherit_env.is_empty(), false),
            ("cwd", self.cwd.is_some(), false),
            ("headers", !self.headers.0.is_empty(), true),
            ("oauth", self.oauth.is_some(), true),
        ];
        let mut keys = keys.into_iter();
        let misplaced = keys.find(|(_, is_there, for_web)| *is_there && *for_web != is_web);
        Err(match (self.kind, misplaced) {
            (Some(Kind::Sse), _) => {
                "the transport `sse` is obsolete and not supported; use `http` if the server has it"
                    .to_owned()
            }
            (Some(Kind::Http), _) if !is_web => {
                "the type is `http`, so it needs a `url`".to_owned()
            }
            (Some(Kind::Stdio), _) if is_web => {
                "the type is `stdio`, so it needs a `command`".to_owned()
            }
            (_, Some((key, ..))) if is_web => {
                format!("`{key}` is for programs, and it has a `url`")
            }
            (_, Some((key, ..))) => format!("`{key}` is for HTTP servers, and it has a `command`"),
            (_, None) => return Ok(()),
        })
    }

    /// The values that say what is started and where data go, with their keys.
    pub(super) fn places(&self) -> impl Iterator<Item = (String, &str)> {
        let issuer = match &self.oauth {
            Some(Login::Settings(settings)) => settings.issuer.as_deref(),
            _ => None,
        };
        let single = [
            ("command", self.command.as_deref()),
            ("cwd", self.cwd.as_deref()),
            ("url", self.url.as_deref()),
            ("oauth.issuer", issuer),
        ];
        let single = single.into_iter();
        let single = single.filter_map(|(key, text)| text.map(|text| (key.to_owned(), text)));
        let args = self.args.iter().enumerate();
        let args = args.map(|(index, arg)| (format!("args[{index}]"), arg.as_str()));
        let roots = self.roots.iter().enumerate();
        let roots = roots.map(|(index, root)| (format!("roots[{index}]"), root.as_str()));
        single.chain(args).chain(roots)
    }

    /// How to log in to the server, if it may be necessary. Errors begin with the key.
    fn login(&self, tokens: &Path, attended: bool) -> Result<Option<OAuth>, String> {
        match &self.oauth {
            _ if !self.can_log_in() => Ok(None),
            Some(Login::Settings(settings)) => login(settings, tokens, attended).map(Some),
            _ => login(&Settings::default(), tokens, attended).map(Some),
        }
    }

    /// Builds the server. Errors begin with the key.
    fn server(&self, alias: &str, folder: &Path) -> Result<McpServer, String> {
        let at = expanded;
        let filled = |key: &str, text: &str| match at(key, text)? {
            value if value.trim().is_empty() => Err(format!(".{key}: the value is empty")),
            value => Ok(value),
        };
        let server = match (&self.command, &self.url) {
            (Some(command), _) => {
                let args = self.args.iter().enumerate();
                let args = args.map(|(index, arg)| at(&format!("args[{index}]"), arg));
                let args = args.collect::<Result<Vec<String>, String>>()?;
                let mut environment = Environment::default();
                for (name, value) in &self.env.0 {
                    let value = at(&format!("env.{name}"), value)?;
                    let set = environment.set(name, value);
                    environment = set.map_err(|why| format!(".env: {why}"))?;
                }
                for name in &self.inherit_env {
                    let inherited = environment.inherit(name);
                    environment = inherited.map_err(|why| format!(".inheritEnv: {why}"))?;
                }
                let directory = match &self.cwd {
                    Some(cwd) => folder.join(filled("cwd", cwd)?),
                    None => folder.to_owned(),
                };
                if !directory.is_dir() {
                    return Err(".cwd: there is no such directory".to_owned());
                }
                let program = program_path(&filled("command", command)?, folder);
                let program = Program::new(program).args(args).directory(directory);
                let program = program.environment(environment).secrets(self.secrets());
                McpServer::program(program)
            }
            (None, url) => {
                let url = filled("url", url.as_deref().unwrap_or_default())?;
                let mut server = McpServer::http(url);
                for (name, value) in &self.headers.0 {
                    server = server.header(name, at(&format!("headers.{name}"), value)?);
                }
                server
            }
        };
        // Without expanded variables and full paths: the lock file is for every machine.
        let source = json!({ "command": self.command, "args": self.args, "url": self.url });
        let server = server.alias(alias).pin_source(source.to_string());
        let mut server = server.deny(&self.deny);
        match self.allow.as_deref() {
            None => {}
            Some([]) => {
                return Err(".allow: it is empty; leave it out to use all tools".to_owned());
            }
            Some(patterns) => server = server.allow(patterns),
        }
        for (index, root) in self.roots.iter().enumerate() {
            let key = format!("roots[{index}]");
            let root = folder.join(filled(&key, root)?);
            let root = std::path::absolute(root).map_err(|error| format!(".{key}: {error}"))?;
            server = server.roots([root]);
        }
        if let Some(seconds) = self.timeout_seconds {
            let limit = Duration::from_secs(u64::from(seconds.get()));
            server = server.limits(Limits {
                idle: limit,
                call_total: limit,
                ..Limits::default()
            });
        }
        type Set = fn(McpServer) -> McpServer;
        let switches: [(bool, Set); 6] = [
            (self.optional, McpServer::optional),
            (self.believe_annotations, McpServer::believe_annotations),
            (self.resources, McpServer::resources),
            (self.use_instructions, McpServer::use_instructions),
            (self.reads_private, McpServer::reads_private),
            (self.sends_out, McpServer::sends_out),
        ];
        let on = switches.into_iter().filter(|(is_on, _)| *is_on);
        Ok(on.fold(server, |server, (_, set)| set(server)))
    }
}

/// Reads a document. Errors begin with the path of the key.
pub(super) fn parse(text: &str) -> Result<Document, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let document = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        match path.as_str() {
            "." => error.inner().to_string(),
            path => format!("`{path}`: {}", error.inner()),
        }
    })?;
    json.end().map_err(|error| error.to_string())?;
    Ok(document)
}

/// An object, in the order of the file. A repeated key is an error.
pub(crate) struct Pairs<T>(pub(super) Vec<(String, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<T>(Pairs<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
                let pairs = &mut self.0.0;
                while let Some(key) = map.next_key::<String>()? {
                    if pairs.iter().any(|(other, _)| *other == key) {
                        return Err(A::Error::custom(format!("`{key}` is there twice")));
                    }
                    pairs.push((key, map.next_value()?));
                }
                Ok(self.0)
            }
        }

        deserializer.deserialize_map(Object(Pairs::default()))
    }
}
