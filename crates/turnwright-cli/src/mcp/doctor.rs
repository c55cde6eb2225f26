//! `turnwright mcp doctor`

use std::time::Instant;

use turnwright_mcp::{LockFile, Mcp, McpServer, Pinning, ServerState, ServerStatus};

use crate::args::McpFile;
use crate::doctor::{Check, Status, print};
use crate::exit::Exit;
use crate::mcp_servers::{Config, command, lock_file, missing_consent, read_lock, shown, why_down};
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
    print(&checks, screen)?;
    let failed = checks.iter().any(|check| check.status == Status::Fail);
    Ok(if failed { Exit::No } else { Exit::Done })
}

async fn checks(options: &McpFile, screen: &mut Screen) -> Vec<Check> {
    let configs = match Config::read_all(&options.files) {
        Ok(configs) => configs,
        Err(error) => return vec![invalid(&error)],
    };
    let mut checks = Vec::new();
    for config in configs {
        checks.extend(of_config(&config, screen).await);
    }
    checks
}

fn invalid(error: &anyhow::Error) -> Check {
    let fix = "correct the file; `turnwright mcp --help` explains its format";
    Check::fail("config", error.to_string(), fix)
}

async fn of_config(config: &Config, screen: &mut Screen) -> Vec<Check> {
    let servers = match config.servers(screen.is_interactive()) {
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
    for ((alias, _), server) in config.servers.iter().zip(servers) {
        screen.busy(&format!("starting {alias}"));
        checks.extend(server_checks(alias, server, lock.as_ref(), config).await);
    }
    checks
}

fn consent(config: &Config) -> Check {
    let fix = format!(
        "review the file, then run `{}`",
        command("trust", &config.file)
    );
    match missing_consent(config) {
        Ok(None) => Check::ok("consent", "you have agreed to this configuration"),
        Ok(Some(missing)) => {
            let detail = format!("the configuration {missing}, so its servers are not started");
            Check::fail("consent", one_line(&detail, 500), fix)
        }
        Err(error) => Check::fail("consent", error.to_string(), "do that, then run this command again"),
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

async fn server_checks(
    alias: &str,
    server: McpServer,
    lock: Option<&LockFile>,
    config: &Config,
) -> Vec<Check> {
    let mcp = Mcp::new([server]);
    let mcp = match lock {
        Some(_) => mcp.lock_file(lock_file(config)).pinning(Pinning::Pinned),
        None => mcp.pinning(Pinning::Unpinned),
    };
    let started = Instant::now();
    let checks = match mcp.start().await {
        Ok(()) => {
            let start = started.elapsed();
            let latency = mcp.latency(alias).await;
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
                let log = mcp.log(alias).unwrap_or_default();
                checks_of(status, &timing, &log, config)
            });
            checks.collect()
        }
        Err(error) => vec![Check::fail("server", error.to_string(), "correct the file")],
    };
    mcp.stop().await;
    checks
}

fn checks_of(status: &ServerStatus, timing: &str, log: &str, config: &Config) -> Vec<Check> {
    let alias = &status.alias;
    let (name, version, protocol) = match &status.state {
        ServerState::Connected {
            name,
            version,
            protocol_version,
        } => (name, version, protocol_version),
        ServerState::Down { reason } => return vec![down(alias, reason, log)],
        _ => {
            return vec![Check::fail(
                "server",
                format!("{alias}: not ready"),
                "try again",
            )];
        }
    };
    let about = format!("{} {}", one_line(name, 60), one_line(version, 40));
    let tools = plural(status.tools.len() as u64, "tool");
    let detail = format!("{alias}: {about}, protocol {protocol}, {tools}, {timing}");
    let mut checks = vec![match protocol.as_str() < OLD_PROTOCOL {
        true => Check::warn(
            "server",
            detail,
            "the protocol version is old: update the server",
        ),
        false => Check::ok("server", detail),
    }];
    let names = status.withheld.iter().map(|item| one_line(&item.tool, 64));
    let names = listed(names, SHOWN);
    let withheld = plural(status.withheld.len() as u64, "tool");
    match (status.differences.len(), status.withheld.len()) {
        (0, 0) => {}
        (0, _) => {
            let detail = format!("{alias}: {withheld} cannot be used: {names}");
            let fix = format!("`{}` shows the reasons", command("list", &config.file));
            checks.push(Check::warn("tools", detail, fix));
        }
        (differences, count) => {
            let differences = plural(differences as u64, "difference");
            let withheld = match count {
                0 => "no tools withheld".to_owned(),
                _ => format!("{withheld} withheld: {names}"),
            };
            let (diff, pin) = (command("diff", &config.file), command("pin", &config.file));
            let fix = format!("look at the changes with `{diff}`, then accept them with `{pin}`");
            let detail = format!("{alias}: {differences} to the lock file, {withheld}");
            checks.push(Check::warn("pins", detail, fix));
        }
    }
    checks
}

fn down(alias: &str, reason: &str, log: &str) -> Check {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LOG_LINES)..);
    let last: Vec<String> = last
        .unwrap_or_default()
        .iter()
        .map(|line| format!("stderr: {}", one_line(line, 200)))
        .collect();
    let mut detail = format!("{alias}: {}", why_down(reason));
    for line in last {
        detail.push('\n');
        detail.push_str(&line);
    }
    let fix = if reason.contains("cannot start") {
        "install the program, or correct `command` in the configuration"
    } else if reason.contains("authorisation") {
        "run this command at a terminal to log in, or add a token to `headers`, for example \"Authorization\": \"Bearer ${TOKEN}\""
    } else if reason.contains("did not answer") {
        "check that the program is an MCP server, and try its command line in a shell"
    } else {
        "try its command line in a shell, and check the variables that it needs: list them in `env` or `inheritEnv`"
    };
    Check::fail("server", detail, fix)
}
