//! A set of servers, and how a runner gets it.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use turnwright_core::runner::TurnRunnerBuilder;
use turnwright_core::{Cancellation, Error, ErrorCode, Tool, ToolOutput, TurnInput};

use super::connection::{Connection, State};
use super::server::McpServer;
use super::status::ServerStatus;
use super::supervisor::Supervisor;
use super::{pages, prompts, resources};
use crate::pin::{LockFile, Pinning, Pins};

/// How long the first turn waits for servers that are starting.
const FIRST_WAIT: Duration = Duration::from_secs(10);

/// Connections to MCP servers. A handle: clones share the connections, which end with the last clone.
///
/// Servers start with the first turn, or with [`Mcp::start`].
///
/// ```
/// use turnwright_mcp::{Mcp, McpExt as _, McpServer};
/// use turnwright_core::DispatchContext;
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// let files = McpServer::stdio("files-server", ["/data"]).alias("files");
/// let mcp = Mcp::new([files]).lock_file("mcp.lock.json");
/// let runner = turnwright_core::runner(executor).mcp(mcp.clone()).build()?;
/// assert_eq!(mcp.status()[0].alias, "files");
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Mcp {
    servers: Vec<McpServer>,
    lock_file: Option<PathBuf>,
    pinning: Pinning,
    first_wait: Duration,
    running: Arc<OnceLock<Running>>,
}

/// The servers once they are in use.
struct Running {
    servers: Vec<Arc<Supervisor>>,
    /// What is wrong with the settings.
    problems: Vec<String>,
    stop: Cancellation,
    /// When turns no longer wait for servers that are starting. `None`: never.
    wait_ends: OnceLock<Option<Instant>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The sets of servers in a turn.
#[derive(Default)]
pub(super) struct Sets(Mutex<Vec<Mcp>>);

impl Mcp {
    /// Creates a set of servers. Nothing is started.
    pub fn new(servers: impl IntoIterator<Item = McpServer>) -> Self {
        Mcp {
            servers: servers.into_iter().collect(),
            lock_file: None,
            pinning: Pinning::default(),
            first_wait: FIRST_WAIT,
            running: Arc::default(),
        }
    }

    /// Compares definitions with the pins in this file: see [`Pinning`].
    #[must_use]
    pub fn lock_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.lock_file = Some(path.into());
        self
    }

    /// Sets when a definition is accepted.
    ///
    /// Default: [`Pinning::TrustOnFirstUse`].
    #[must_use]
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.pinning = pinning;
        self
    }

    /// Sets how long turns wait for servers that are starting, counted from the first turn. Later turns wait for the rest of that
    /// time.
    ///
    /// Default: 10 s.
    #[must_use]
    pub fn first_wait(mut self, limit: Duration) -> Self {
        self.first_wait = limit;
        self
    }

    /// Starts all servers, and waits until each is connected or has failed. If a server requires authorisation and a person is asked
    /// (see [`OAuth::prompt`](crate::OAuth::prompt)), this waits for the person.
    ///
    /// # Errors
    /// Returns `E_INVALID_TURN_RUNNER_CONFIG` if the settings or the lock file are invalid. A server that fails is not an error: see
    /// [`status`](Self::status).
    pub async fn start(&self) -> Result<(), Error> {
        self.check()?;
        self.running().servers.iter().for_each(Supervisor::start);
        join_all(self.connections().map(|server| server.settled())).await;
        Ok(())
    }

    /// Starts all servers, and waits as the first turn does: for those that are not optional, and not longer than
    /// [`first_wait`](Self::first_wait).
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn prepare(&self) -> Result<(), Error> {
        self.check()?;
        self.ready().await;
        Ok(())
    }

    /// Stops all servers, and waits until their processes have ended. They are not started again.
    pub async fn stop(&self) {
        let Some(running) = self.running.get() else {
            return;
        };
        running.stop.cancel();
        join_all(self.connections().map(|server| server.stopped())).await;
    }

    /// Asks a connected server for its tools, and returns how long that took. `None` if it is not connected, or does not answer.
    pub async fn latency(&self, alias: &str) -> Option<Duration> {
        let server = self.server(alias).ok()?;
        let ready = server.ready()?;
        let started = Instant::now();
        let listed = pages::tools(&*ready.session, &server.config().limits).await;
        listed.ok().map(|_| started.elapsed())
    }

    /// Returns the state of each server.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let status = self.connections().map(|server| server.status());
        status.collect()
    }

    /// Returns the tools of the servers that are connected.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        let ready = self.connections().filter_map(|server| server.ready());
        ready.flat_map(|ready| ready.tools.clone()).collect()
    }

    /// Returns what the servers that are connected say now, as it would be pinned. Write it to a file to accept it.
    #[must_use]
    pub fn pins(&self) -> LockFile {
        let servers = self.connections().filter_map(|server| {
            let seen = Arc::clone(&server.ready()?.seen);
            Some((server.config().alias.clone(), Arc::unwrap_or_clone(seen)))
        });
        let mut lock = LockFile::default();
        lock.servers = servers.collect();
        lock
    }

    /// Lists the resources of a server, as it sends them.
    ///
    /// # Errors
    /// Returns `E_TOOL_DOWNSTREAM_ERROR` if there is no such server, or if it fails.
    pub async fn resources(&self, alias: &str) -> Result<Vec<Value>, Error> {
        let server = self.server(alias)?;
        let listed = resources::list(server, None).await;
        listed.map_err(|failure| prompts::error(server, &failure))
    }

    /// Reads a resource of a server. The content is untrusted, and private if the server
    /// [reads private data](McpServer::reads_private).
    ///
    /// # Errors
    /// See [`resources`](Self::resources).
    pub async fn read_resource(&self, alias: &str, uri: &str) -> Result<ToolOutput, Error> {
        let server = self.server(alias)?;
        let read = resources::read(server, uri, None).await;
        read.map_err(|failure| prompts::error(server, &failure))
    }

    /// Lists the prompts of a server, as it sends them.
    ///
    /// # Errors
    /// See [`resources`](Self::resources).
    pub async fn prompts(&self, alias: &str) -> Result<Vec<Value>, Error> {
        let server = self.server(alias)?;
        let listed = prompts::list(server).await;
        listed.map_err(|failure| prompts::error(server, &failure))
    }

    /// Gets a prompt of a server as the input of a turn. The server wrote it, so the model reads it inside an envelope for untrusted
    /// text. It is private if the server [reads private data](McpServer::reads_private).
    ///
    /// # Errors
    /// See [`resources`](Self::resources).
    pub async fn prompt(&self, alias: &str, name: &str, args: Value) -> Result<TurnInput, Error> {
        prompts::get(self.server(alias)?, name, &args).await
    }

    fn server(&self, alias: &str) -> Result<&Arc<Connection>, Error> {
        let mut servers = self.connections();
        servers
            .find(|server| server.config().alias == alias)
            .ok_or_else(|| {
                let message = format!("there is no MCP server with the alias `{alias}`");
                Error::new(ErrorCode::TOOL_DOWNSTREAM_ERROR, message)
            })
    }

    /// Returns what a server that is a program wrote last to standard error.
    #[must_use]
    pub fn log(&self, alias: &str) -> Option<String> {
        let mut servers = self.running().servers.iter();
        let server = servers.find(|server| server.connection().config().alias == alias)?;
        Some(server.log())
    }

    /// Checks the settings and the lock file. Nothing is started.
    ///
    /// # Errors
    /// Returns `E_INVALID_TURN_RUNNER_CONFIG`, which lists everything that is invalid.
    pub fn check(&self) -> Result<(), Error> {
        let problems = &self.running().problems;
        if problems.is_empty() {
            Ok(())
        } else {
            let message = format!("invalid MCP settings: {}", problems.join("; "));
            Err(Error::new(ErrorCode::INVALID_TURN_RUNNER_CONFIG, message))
        }
    }

    fn running(&self) -> &Running {
        self.running.get_or_init(|| {
            let mut problems = problems(&self.servers);
            let lock = self.lock_file.as_ref().map(LockFile::read).transpose();
            let lock = lock.unwrap_or_else(|error| {
                problems.push(error.to_string());
                None
            });
            let mut pinned = lock.flatten().unwrap_or_default().servers;
            let stop = Cancellation::new();
            let servers = self.servers.iter().map(|server| {
                let pins = Pins::new(self.pinning, pinned.remove(&server.alias));
                Supervisor::new(server.clone(), pins, stop.child())
            });
            Running {
                servers: servers.collect(),
                problems,
                stop,
                wait_ends: OnceLock::new(),
            }
        })
    }

    /// Starts servers that are not started, and waits for those that are not optional. One that has waited for a person before this
    /// turn may do so for long, so the turn does not wait for it.
    pub(super) async fn ready(&self) {
        let running = self.running();
        running.servers.iter().for_each(Supervisor::start);
        let required = self.connections().filter(|server| {
            !server.config().optional && !matches!(server.state(), State::Authorizing)
        });
        let settled = join_all(required.map(|server| server.settled()));
        let wait_ends = || Instant::now().checked_add(self.first_wait);
        match *running.wait_ends.get_or_init(wait_ends) {
            // A server that is late is reported by its state.
            Some(ends) => drop(timeout_at(ends, settled).await),
            None => drop(settled.await),
        }
    }

    /// Adds this set to those of a turn.
    ///
    /// # Errors
    /// Returns `E_INVALID_TURN_RUNNER_CONFIG` if another set has a server with the same alias: their tools would have the same names.
    pub(super) fn join(&self, sets: &Sets) -> Result<(), Error> {
        let mut sets = sets.0.lock();
        if sets
            .iter()
            .any(|set| Arc::ptr_eq(&set.running, &self.running))
        {
            return Ok(());
        }
        let is_taken = |alias: &String| {
            let mut others = sets.iter().flat_map(|set| &set.servers);
            others.any(|other| other.alias == *alias)
        };
        let mut aliases = self.servers.iter().map(|server| &server.alias);
        if let Some(alias) = aliases.find(|alias| is_taken(alias)) {
            let message = format!(
                "two sets of MCP servers of this runner have the alias `{alias}`: give one of the servers another alias"
            );
            return Err(Error::new(ErrorCode::INVALID_TURN_RUNNER_CONFIG, message));
        }
        sets.push(self.clone());
        Ok(())
    }

    /// Returns the connections to all servers.
    pub(super) fn connections(&self) -> impl Iterator<Item = &Arc<Connection>> {
        let servers = self.running().servers.iter();
        servers.map(|server| server.connection())
    }
}

fn problems(servers: &[McpServer]) -> Vec<String> {
    let mut problems: Vec<String> = servers.iter().flat_map(McpServer::problems).collect();
    for (index, server) in servers.iter().enumerate() {
        let mut others = servers.iter().take(index);
        if others.any(|other| other.alias == server.alias) {
            problems.push(format!("two servers have the alias `{}`", server.alias));
        }
    }
    problems
}

impl<I: IntoIterator<Item = McpServer>> From<I> for Mcp {
    fn from(servers: I) -> Self {
        Mcp::new(servers)
    }
}

/// Adds MCP servers to a runner.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_mcp::{McpExt as _, McpServer};
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// let memory = McpServer::stdio("memory-server", [""; 0]).alias("memory");
/// let runner = turnwright_core::runner(executor).mcp([memory]).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
pub trait McpExt {
    /// Gives the tools of these servers to each turn. Takes a list of servers, or an [`Mcp`].
    ///
    /// ```
    /// use turnwright_core::DispatchContext;
    /// use turnwright_core::tool::approval::before_writes;
    /// use turnwright_mcp::{McpExt as _, McpServer};
    ///
    /// # let executor = |_: DispatchContext| async { Ok(()) };
    /// let files = McpServer::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "/data"]).alias("files");
    /// let runner = turnwright_core::runner(executor)
    ///     .mcp([files])
    ///     .policy(before_writes("it may change something"))
    ///     .build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    #[must_use]
    fn mcp(self, servers: impl Into<Mcp>) -> Self;
}

impl McpExt for TurnRunnerBuilder {
    fn mcp(self, servers: impl Into<Mcp>) -> Self {
        let mcp = servers.into();
        self.turn_input(mcp.clone()).dispatch_input(mcp)
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp")
            .field("servers", &self.servers)
            .field("pinning", &self.pinning)
            .finish_non_exhaustive()
    }
}
