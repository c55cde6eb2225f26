//! `turnwright mcp serve`: the tools of the program for other programs.

mod log;
#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::timeout;
use turnwright::Principal;
use turnwright::approval::{ApprovalPolicy, ApprovalRequest, GateAnswer, PendingCall, when};
use turnwright_mcp::McpService;

use crate::agent::asks_before_writes;
use crate::args::McpServe;
use crate::exit::{Exit, misuse, unusable_port};
use crate::extensions::Extensions;
use crate::terminal::{Screen, Signals, local_user};
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
    let service = service(&options, program, extensions, local_user())?
        .observer(calls.observer(screen.is_json()));
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

/// The service: tools, state and policies. Calls act for the user of this process, but over HTTP for no one: programs of other users
/// can connect too.
fn service(
    options: &McpServe,
    (name, version): (&str, &str),
    extensions: Extensions,
    user: Option<Principal>,
) -> anyhow::Result<McpService> {
    let builtin = extensions.builtin_tools.then_some(Builtin {
        folder: &options.sources.folder,
        fetch: !options.no_fetch,
    });
    let files = &options.sources.tool_files.files;
    let tools = toolbox::gather(builtin, extensions.tools, files)?;
    if tools.is_empty() {
        return Err(misuse(
            "there are no tools to serve. Add some with `--tools FILE`",
        ));
    }
    let mut service = McpService::of(tools)?.name(name, version);
    if options.yes {
        let approves = |_: ApprovalRequest| async { GateAnswer::approve() };
        service = service.context(|context| context.approver(approves));
    }
    if let Some(user) = user.filter(|_| options.http.is_none()) {
        service = service.principal(user);
    }
    let settings = extensions.settings.into_iter();
    Ok(settings
        .fold(service, |service, setting| setting.service(service))
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
    let listener =
        listener.map_err(|error| unusable_port(port, &error, "use `--http 0` for a free one"))?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    screen.value(&json!({ "url": url }))?;
    screen.line(format_args!("listening on {url}"))?;
    Ok(service.http().serve_on(listener).await?)
}
