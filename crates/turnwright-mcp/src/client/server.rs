//! A server and how it is used.

use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use turnwright_core::call::digest_of;
use turnwright_core::{BoxError, ToolBuilder};
use url::Url;

use super::filter::Filter;
use super::sampling::{Sampler, SamplingAnswer, SamplingRequest};
use crate::definition::check_alias;
use crate::limits::Limits;
use crate::oauth::OAuth;
use crate::process::{Environment, InvalidVariable, Program};
use crate::protocol::{ConnectOptions, HttpSettings};

/// An MCP server whose tools a model may use. See [`McpExt::mcp`](crate::McpExt::mcp).
///
/// ```
/// use turnwright_mcp::McpServer;
///
/// let files = McpServer::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "/data"])
///     .alias("files")
///     .deny(["write_*", "move_file"]);
/// let search = McpServer::http("https://example.com/mcp").alias("search").bearer("token").optional();
/// assert!(!format!("{search:?}").contains("token"));
/// ```
#[derive(Clone)]
#[must_use = "a server is not used until it is given to a runner"]
pub struct McpServer {
    pub(super) alias: String,
    pub(super) endpoint: Endpoint,
    pub(super) filter: Filter,
    pub(super) limits: Limits,
    pub(super) believe_annotations: bool,
    pub(super) use_instructions: bool,
    pub(super) optional: bool,
    sessions: bool,
    pub(super) sampler: Option<Sampler>,
    /// URIs.
    pub(super) roots: Option<Vec<String>>,
    pub(super) resources: bool,
    pub(super) reads_private: bool,
    pub(super) sends_out: bool,
    /// What is pinned as the command line or URL, if not that itself.
    pin_source: Option<String>,
    /// What is wrong with the settings.
    problems: Vec<String>,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub(super) enum Endpoint {
    Stdio(Program),
    Http(HttpSettings),
}

impl McpServer {
    /// Creates a server that is a program. It is started without a shell and speaks over its standard streams.
    ///
    /// It gets only a few environment variables (`PATH`, `HOME` and others without secrets) and those that are named by
    /// [`env`](Self::env) and [`inherit_env`](Self::inherit_env).
    pub fn stdio<A: Into<String>>(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        McpServer::program(Program::new(program).args(args))
    }

    /// Creates a server that is a program.
    pub fn program(program: Program) -> Self {
        McpServer::new(Endpoint::Stdio(program))
    }

    /// Creates a server that is reached over HTTP.
    pub fn http(url: impl Into<String>) -> Self {
        McpServer::new(Endpoint::Http(HttpSettings::new(url.into())))
    }

    fn new(endpoint: Endpoint) -> Self {
        McpServer {
            alias: String::new(),
            endpoint,
            filter: Filter::default(),
            limits: Limits::default(),
            believe_annotations: false,
            use_instructions: false,
            optional: false,
            sessions: false,
            sampler: None,
            roots: None,
            resources: false,
            reads_private: false,
            sends_out: false,
            pin_source: None,
            problems: Vec::new(),
        }
    }

    /// Sets the alias: the first part of the names of its tools, `alias__tool`. Required. It is yours, not the server's, so that no
    /// server can use the names of another.
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.alias = alias.into();
        self
    }

    /// Sets an environment variable of the program.
    pub fn env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.change_env(|environment| environment.set(name, value))
    }

    /// Passes an environment variable of this process to the program.
    pub fn inherit_env(self, name: impl Into<String>) -> Self {
        self.change_env(|environment| environment.inherit(name))
    }

    fn change_env(
        mut self,
        change: impl FnOnce(Environment) -> Result<Environment, InvalidVariable>,
    ) -> Self {
        let changed = match &mut self.endpoint {
            Endpoint::Stdio(program) => program
                .change_environment(change)
                .map_err(|error| error.to_string()),
            Endpoint::Http(_) => {
                Err("environment variables are for programs; use `header` for HTTP".to_owned())
            }
        };
        self.problems.extend(changed.err());
        self
    }

    /// Sends a bearer token with each request over HTTP.
    pub fn bearer(self, token: impl Into<String>) -> Self {
        let token = token.into();
        self.header("authorization", format!("Bearer {token}"))
    }

    /// Gets tokens by OAuth 2.1 when the server requires authorisation.
    ///
    /// Default: a server that requires authorisation, and does not accept what [`bearer`](Self::bearer) or [`header`](Self::header)
    /// sends, is down.
    ///
    /// ```
    /// use turnwright_mcp::{McpServer, OAuth};
    ///
    /// let oauth = OAuth::new().prompt(|prompt| println!("Open this page of {}: {}", prompt.host, prompt.url));
    /// let server = McpServer::http("https://mcp.example.com/mcp").alias("example").oauth(oauth);
    /// ```
    pub fn oauth(self, oauth: OAuth) -> Self {
        self.change_http("OAuth is for HTTP", |settings| {
            settings.oauth(oauth);
            Ok(())
        })
    }

    /// Sends a header with each request over HTTP.
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.change_http("headers are for HTTP", |settings| {
            settings.header(&name, &value)
        })
    }

    fn change_http(
        mut self,
        why: &str,
        change: impl FnOnce(&mut HttpSettings) -> Result<(), String>,
    ) -> Self {
        let changed = match &mut self.endpoint {
            Endpoint::Http(settings) => change(settings),
            Endpoint::Stdio(_) => Err(format!("{why}; use `env` for programs")),
        };
        self.problems.extend(changed.err());
        self
    }

    /// Uses only tools whose names match one of these patterns, in which `*` stands for any text. The names are the server's.
    ///
    /// Default: all tools.
    pub fn allow<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        let patterns = patterns.into_iter().map(Into::into);
        self.filter.allow.extend(patterns);
        self
    }

    /// Does not use tools whose names match one of these patterns, even if they are allowed.
    pub fn deny<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        let patterns = patterns.into_iter().map(Into::into);
        self.filter.deny.extend(patterns);
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Believes the annotations of the server: a tool that says that it only reads counts as read-only. Do this only for servers
    /// whose source you trust.
    ///
    /// Default: every tool counts as one that writes.
    pub fn believe_annotations(mut self) -> Self {
        self.believe_annotations = true;
        self
    }

    /// Shows the instructions of the server to the model, as untrusted text.
    ///
    /// Default: they are ignored.
    pub fn use_instructions(mut self) -> Self {
        self.use_instructions = true;
        self
    }

    /// Does not wait for this server at the start of a turn.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Labels everything that the server returns as private data: results of tools, resources, prompts and instructions. See
    /// [`no_exfiltration`](turnwright_core::tool::approval::no_exfiltration).
    pub fn reads_private(mut self) -> Self {
        self.reads_private = true;
        self
    }

    /// Labels all tools of the server as tools through which data can leave: see
    /// [`no_exfiltration`](turnwright_core::tool::approval::no_exfiltration).
    pub fn sends_out(mut self) -> Self {
        self.sends_out = true;
        self
    }

    /// Gives the model two more tools, `alias__mcp_list_resources` and `alias__mcp_read_resource`, if the server has resources.
    /// Links to resources in results name the second one. A tool of the server with one of these names is withheld.
    pub fn resources(mut self) -> Self {
        self.resources = true;
        self
    }

    /// Lets the server ask for answers of a model (sampling), during calls of its tools. Its requests go to `sample`, and what that
    /// returns goes to the server. An error is a warning of the turn; the server gets a refusal without the reason. A server can ask
    /// at most 20 times during a call.
    ///
    /// The server chooses what the model reads, and you pay for it. So use a model without tools and without private data, and ask
    /// a person where that matters: see [`SamplingRequest::context`].
    ///
    /// Default: such requests are refused.
    ///
    /// ```
    /// use turnwright_core::{BoxError, DispatchContext};
    /// use turnwright_mcp::{McpServer, SamplingAnswer, SamplingRequest};
    ///
    /// # let model = |_: DispatchContext| async { Ok(()) };
    /// let runner = turnwright_core::runner(model).build()?;
    /// let server = McpServer::stdio("summary-server", ["--all"]).alias("summary").sampling(move |request: SamplingRequest| {
    ///     let runner = runner.clone();
    ///     async move {
    ///         let answer = runner.run(request.input()?).await.into_answer()?;
    ///         Ok::<_, BoxError>(SamplingAnswer::new("qwen3", answer))
    ///     }
    /// });
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn sampling<F, R, E>(mut self, sample: F) -> Self
    where
        F: Fn(SamplingRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<SamplingAnswer, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.sampler = Some(Sampler::new(sample));
        self
    }

    /// Tells the server which directories it should work on (roots), as absolute paths. Servers for files often use them as the
    /// directories that they may access, instead of those on their command line. It is no restriction: a program can ignore it.
    ///
    /// Default: requests for roots are refused.
    pub fn roots<P: AsRef<Path>>(mut self, directories: impl IntoIterator<Item = P>) -> Self {
        let roots = self.roots.get_or_insert_default();
        for directory in directories {
            match Url::from_file_path(&directory) {
                Ok(url) => roots.push(url.into()),
                Err(()) => {
                    let directory = directory.as_ref().display();
                    self.problems
                        .push(format!("the root `{directory}` is not an absolute path"));
                }
            }
        }
        self
    }

    /// Connects with `initialize`, as servers before the revision 2026-07-28 expect, without asking first for the new lifecycle. For
    /// old servers that do not reject what they do not know.
    ///
    /// Default: the new lifecycle is tried first.
    pub fn sessions_only(mut self) -> Self {
        self.sessions = true;
        self
    }

    /// Sets what is pinned as the source of the server: a text that is the same on every machine, such as the command line before
    /// variables were expanded.
    ///
    /// Default: the command line or the URL.
    pub fn pin_source(mut self, source: impl Into<String>) -> Self {
        self.pin_source = Some(source.into());
        self
    }

    pub(super) fn connect_options(&self) -> ConnectOptions {
        ConnectOptions {
            sessions: self.sessions,
            sampling: self.sampler.is_some(),
            roots: self.roots.clone(),
        }
    }

    /// Labels a tool as one of this server.
    pub(super) fn labelled(&self, tool: ToolBuilder<Value>) -> ToolBuilder<Value> {
        tool.source(self.alias.as_str())
            .reads_private(self.reads_private)
            .sends_out(self.sends_out)
    }

    /// Returns what is wrong with the settings.
    pub(super) fn problems(&self) -> Vec<String> {
        let alias = check_alias(&self.alias).err();
        let http = match &self.endpoint {
            Endpoint::Http(settings) => settings.problem(),
            Endpoint::Stdio(_) => None,
        };
        let problems = self.problems.iter().cloned();
        problems.chain(alias).chain(http).collect()
    }

    /// Returns the digest of the command line or URL.
    pub(super) fn source(&self) -> String {
        digest_of(&match (&self.pin_source, &self.endpoint) {
            (Some(source), _) => json!({ "source": source }),
            (None, Endpoint::Stdio(program)) => json!({ "command": program.command_line() }),
            (None, Endpoint::Http(settings)) => json!({ "url": settings.url() }),
        })
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("alias", &self.alias)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
