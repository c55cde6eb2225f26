//! `turnwright mcp doctor`

use std::time::Instant;

use futures_util::future::join_all;
use turnwright_mcp::{LockFile, Mcp, McpServer, Pinning, ServerState, ServerStatus, display_name};

use crate::args::McpFile;
use crate::doctor::{Check, Status, print};
use crate::exit::Exit;
use crate::mcp_servers::{Config, Entry, command, lock_file, missing_consent, read_lock, shown};
use crate::terminal::{Screen, one_line};
use crate::units::{listed, plural};

/// The most lines of the standard error of a server.
const LOG_LINES: usize = 5;

/// The most names of tools in a line.
const SHOWN: usize = 8;

/// Versions of the protocol before this one lack structured results and questions to the user.
const OLD_PROTOCOL: &str = "2025-06-18";

pub(super) async fn run(options: &McpFile, screen: &mut Screen) -> anyhow::Result<Exit> {
    let checks = checks(options, screen).await;
    screen.rest();
    print(&checks, screen)
}

async fn checks(options: &McpFile, screen: &mut Screen) -> Vec<Check> {
    let configs = match Config::read_all(&options.files) {
        Ok(configs) => configs,
        Err(error) => return vec![invalid(&error)],
    };
    screen.busy("starting the MCP servers");
    let attended = screen.is_interactive();
    let checks = configs.iter().map(|config| of_config(config, attended));
    join_all(checks).await.concat()
}

fn invalid(error: &anyhow::Error) -> Check {
    let fix = "correct the file; `turnwright mcp --help` explains its format";
    Check::fail("config", error.to_string(), fix)
}

async fn of_config(config: &Config, attended: bool) -> Vec<Check> {
    let servers = match config.servers(attended) {
        Ok(servers) => servers,
        Err(error) => return vec![invalid(&error)],
    };
    let count = plural(servers.len() as u64, "server");
    let mut checks = vec![Check::ok(
        "config",
        format!("{}, {count}", shown(&config.file)),
    )];
    let keys = config.warnings().into_iter();
    checks.extend(keys.map(|text| Check::warn("config", text, "correct or remove the key")));
    let consent = consent(config);
    let may_start = consent.status == Status::Ok;
    checks.push(consent);
    let (lock, check) = lock(config);
    checks.push(check);
    if !may_start {
        return checks;
    }
    let servers = config.servers.iter().zip(servers);
    let servers = servers.map(|((alias, entry), server)| {
        let checked = Checked {
            config,
            alias,
            entry,
        };
        checked.start(server, lock.is_some())
    });
    checks.extend(join_all(servers).await.concat());
    checks
}

fn consent(config: &Config) -> Check {
    let fix = format!(
        "review the file, then run `{}`",
        command("trust", &config.file)
    );
    match missing_consent(config) {
        Ok(None) => Check::ok(
            "consent",
            format!("you have agreed to {}", shown(&config.file)),
        ),
        Ok(Some(missing)) => {
            let file = shown(&config.file);
            let detail = format!("{file} {missing}, so its servers are not started");
            Check::fail("consent", one_line(&detail, 500), fix)
        }
        Err(error) => Check::fail(
            "consent",
            error.to_string(),
            "do that, then run this command again",
        ),
    }
}

fn lock(config: &Config) -> (Option<LockFile>, Check) {
    let (file, pin) = (shown(&lock_file(config)), command("pin", &config.file));
    match read_lock(config) {
        Ok(Some(lock)) => {
            let tools: usize = lock.servers.values().map(|server| server.tools.len()).sum();
            let tools = plural(tools as u64, "tool");
            let servers = plural(lock.servers.len() as u64, "server");
            let check = Check::ok("lock file", format!("{file}, {tools} of {servers}"));
            (Some(lock), check)
        }
        Ok(None) => {
            let fix = format!("run `{pin}`");
            (
                None,
                Check::warn("lock file", format!("{file} does not exist"), fix),
            )
        }
        Err(error) => {
            let fix = format!("restore the file, or delete it and run `{pin}`");
            (None, Check::fail("lock file", error.to_string(), fix))
        }
    }
}

/// A server that is checked.
struct Checked<'c> {
    config: &'c Config,
    alias: &'c str,
    entry: &'c Entry,
}

impl Checked<'_> {
    async fn start(self, server: McpServer, is_pinned: bool) -> Vec<Check> {
        let mcp = Mcp::new([server]);
        let mcp = if is_pinned {
            mcp.lock_file(lock_file(self.config))
                .pinning(Pinning::Pinned)
        } else {
            mcp.pinning(Pinning::Unpinned)
        };
        let started = Instant::now();
        let checks = match mcp.start().await {
            Ok(()) => {
                let start = started.elapsed();
                let latency = mcp.latency(self.alias).await;
                let timing = match latency {
                    Some(latency) => format!(
                        "started in {} ms, lists its tools in {} ms",
                        start.as_millis(),
                        latency.as_millis()
                    ),
                    None => format!("started in {} ms", start.as_millis()),
                };
                let status = mcp.status();
                let checks = status.iter().flat_map(|status| {
                    let log = mcp.log(self.alias).unwrap_or_default();
                    self.checks(status, &timing, &log)
                });
                checks.collect()
            }
            Err(error) => vec![Check::fail("server", error.to_string(), "correct the file")],
        };
        mcp.stop().await;
        checks
    }

    fn checks(&self, status: &ServerStatus, timing: &str, log: &str) -> Vec<Check> {
        let (server, file) = (self.config.label(self.alias), &self.config.file);
        let (name, version, protocol) = match &status.state {
            ServerState::Connected {
                name,
                version,
                protocol_version,
            } => (name, version, protocol_version),
            ServerState::Down { reason } => return vec![self.down(reason, log)],
            _ => {
                let detail = format!("{server}: not ready");
                return vec![Check::fail("server", detail, "try again")];
            }
        };
        let about = format!("{} {}", one_line(name, 60), one_line(version, 40));
        let tools = plural(status.tools.len() as u64, "tool");
        let detail = format!("{server}: {about}, protocol {protocol}, {tools}, {timing}");
        let mut checks = vec![if protocol.as_str() < OLD_PROTOCOL {
            Check::warn(
                "server",
                detail,
                "the protocol version is old: update the server",
            )
        } else {
            Check::ok("server", detail)
        }];
        for warning in &status.warnings {
            let detail = format!("{server}: {}", one_line(warning, 500));
            let fix = "the tool is used nevertheless: report it to the author of the server";
            checks.push(Check::warn("tools", detail, fix));
        }
        let names = status.withheld.iter();
        let names = names.map(|item| one_line(&display_name(&item.tool), 64));
        let names = listed(names, SHOWN);
        let withheld = plural(status.withheld.len() as u64, "tool");
        match (status.differences.len(), status.withheld.len()) {
            (0, 0) => {}
            (0, _) => {
                let detail = format!("{server}: {withheld} cannot be used: {names}");
                let fix = format!("`{}` shows the reasons", command("list", file));
                checks.push(Check::warn("tools", detail, fix));
            }
            (differences, count) => {
                let differences = plural(differences as u64, "difference");
                let withheld = match count {
                    0 => "no tools withheld".to_owned(),
                    _ => format!("{withheld} withheld: {names}"),
                };
                let (diff, pin) = (command("diff", file), command("pin", file));
                let fix =
                    format!("look at the changes with `{diff}`, then accept them with `{pin}`");
                let detail = format!("{server}: {differences} to the lock file, {withheld}");
                checks.push(Check::warn("pins", detail, fix));
            }
        }
        checks
    }

    fn down(&self, reason: &str, log: &str) -> Check {
        let server = self.config.label(self.alias);
        let mut detail = format!("{server}: {}", self.config.why_down(reason));
        let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines.get(lines.len().saturating_sub(LOG_LINES)..);
        for line in last.unwrap_or_default() {
            detail.push_str(&format!("\nstderr: {}", one_line(line, 200)));
        }
        Check::fail("server", detail, self.fix(reason))
    }

    /// What to do about a server that is down.
    fn fix(&self, reason: &str) -> &'static str {
        let is_silent = reason.contains("did not answer");
        if self.entry.is_http() {
            let is_refused = reason.contains("authorisation");
            if is_refused && self.entry.can_log_in() {
                "run this command at a terminal to log in, or add a token to `headers`, for example \"Authorization\": \"Bearer ${TOKEN}\""
            } else if is_refused {
                "add a valid token to `headers`. To log in instead, remove that header and `\"oauth\": false`"
            } else if is_silent {
                "check that `url` is the address of an MCP server, and that the server works"
            } else {
                "check `url` and `headers` in the configuration, and that the server runs"
            }
        } else if reason.contains("cannot start") {
            "install the program, or correct `command` in the configuration"
        } else if is_silent {
            "check that the program is an MCP server, and try its command line in a shell"
        } else {
            "try its command line in a shell, and check the variables that it needs: list them in `env` or `inheritEnv`"
        }
    }
}
