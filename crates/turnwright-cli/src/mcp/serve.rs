//! `turnwright mcp serve`: the tools of the program for other programs.

mod log;
#[cfg(test)]
mod tests;

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::timeout;
use turnwright::approval::{Approval, ApprovalPolicy, ApprovalRequest, PendingCall, when};
use turnwright_mcp::McpService;

use crate::agent::asks_before_writes;
use crate::args::McpServe;
use crate::exit::{Exit, misuse};
use crate::extensions::{Extensions, apply_to_service};
use crate::terminal::{Screen, Signals};
use crate::toolbox::{self, Builtin};
use log::CallLog;

/// How long calls may take to end after they were cancelled.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) async fn run(
    options: McpServe,
    program: (&str, &str),
    extensions: Extensions,
    screen: Screen,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let calls = CallLog::default();
    let service =
        service(&options, program, extensions)?.observer(calls.observer(screen.is_json()));
    let served = async {
        match options.http {
            None => Ok(service.serve_stdio().await?),
            Some(port) => serve_http(service, port, screen).await,
        }
    };
    // A signal drops the future, which cancels all calls.
    let exit = tokio::select! {
        served = served => served.map(|()| Exit::Done),
        signal = signals.next() => Ok(signal.exit()),
    };
    // They end their processes.
    let _ = timeout(GRACE, calls.ended()).await;
    exit
}

/// The service: tools, state and policies.
fn service(
    options: &McpServe,
    (name, version): (&str, &str),
    extensions: Extensions,
) -> anyhow::Result<McpService> {
    let builtin = if extensions.builtin_tools {
        Builtin::In {
            folder: &options.sources.folder,
            fetch: !options.no_fetch,
        }
    } else {
        Builtin::None
    };
    let files = &options.sources.tool_files.files;
    let tools = toolbox::gather(builtin, extensions.tools, files)?;
    if tools.is_empty() {
        return Err(misuse(
            "there are no tools to serve. Add some with `--tools FILE`",
        ));
    }
    let mut service = McpService::of(tools)?.name(name, version);
    if options.yes {
        let approves = |_: ApprovalRequest| async { Approval::Granted };
        service = service.context(|context| context.approver(approves));
    }
    let service = apply_to_service(extensions.settings, service);
    Ok(service
        .policy(asks_before_writes())
        .policy(asks_before_sending()))
}

/// The prompt of the client is unknown: it may contain private data and text of third parties.
fn asks_before_sending() -> impl ApprovalPolicy {
    let sends = |call: &PendingCall<'_>| call.tool().sends_out();
    when(sends, "data can leave through it")
}

async fn serve_http(service: McpService, port: u16, mut screen: Screen) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener = listener.map_err(|error| {
        misuse(match error.kind() {
            io::ErrorKind::AddrInUse => format!(
                "port {port} of 127.0.0.1 is in use. Choose another port, or `--http 0` for a free one"
            ),
            _ => format!(
                "cannot listen on port {port} of 127.0.0.1: {error}. Use `--http 0` for a free port"
            ),
        })
    })?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    screen.value(&json!({ "url": url }))?;
    screen.line(format_args!("listening on {url}"))?;
    Ok(service.http().serve_on(listener).await?)
}
