//! One call.

use std::error::Error;

use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService, ServiceExt as _};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::runtime::Runtime;
use turnwright_bench_measure::Subject;
use turnwright_core::{DispatchContext, Tool};
use turnwright_mcp::{Mcp, McpServer};

/// The sections of the report.
pub(crate) const SECTIONS: [&str; 2] = ["A small call", "A result of 100,000 bytes"];

pub(crate) const RMCP: &str = "rmcp alone";
pub(crate) const OURS: &str = "**Turnwright**";

/// The connections.
pub(crate) struct Subjects {
    bare: RunningService<RoleClient, ()>,
    _mcp: Mcp,
    tool: Tool,
}

/// Returns the server as a program of this benchmark.
pub(crate) fn server(alias: &str) -> Result<McpServer, Box<dyn Error>> {
    Ok(McpServer::stdio(std::env::current_exe()?, ["serve"]).alias(alias))
}

impl Subjects {
    pub(crate) fn connect(runtime: &Runtime) -> Result<Self, Box<dyn Error>> {
        runtime.block_on(async {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("serve");
            let bare = ().serve(TokioChildProcess::new(command)?).await?;
            let mcp = Mcp::new([server("bench")?]);
            mcp.start().await?;
            let tool = mcp
                .tools()
                .into_iter()
                .next()
                .ok_or("the server has no tools")?;
            Ok(Subjects {
                bare,
                _mcp: mcp,
                tool,
            })
        })
    }

    /// Returns what is measured.
    pub(crate) fn all<'a>(&'a self, runtime: &'a Runtime) -> Vec<Subject<'a>> {
        let small = json!({ "text": "hello, world" });
        let large = json!({ "large": true });
        let [first, second] = SECTIONS;
        [(first, small), (second, large)]
            .into_iter()
            .flat_map(|(section, args)| {
                [
                    self.bare(section, &args, runtime),
                    self.ours(section, &args, runtime),
                ]
            })
            .collect()
    }

    fn bare<'a>(
        &'a self,
        section: &'static str,
        args: &Value,
        runtime: &'a Runtime,
    ) -> Subject<'a> {
        let args = args.as_object().cloned().unwrap_or_default();
        Subject::awaited(section, RMCP, runtime, async move || {
            let params = CallToolRequestParams::new("echo").with_arguments(args.clone());
            let result = self.bare.call_tool(params).await;
            assert!(result.is_ok_and(|result| !result.content.is_empty()));
        })
    }

    fn ours<'a>(
        &'a self,
        section: &'static str,
        args: &Value,
        runtime: &'a Runtime,
    ) -> Subject<'a> {
        let args = args.to_string();
        Subject::awaited(section, OURS, runtime, async move || {
            let ctx = DispatchContext::standalone();
            let output = self.tool.call(&ctx, args.as_str()).await;
            assert!(
                output.is_ok_and(|output| output.as_text().is_some_and(|text| !text.is_empty()))
            );
        })
    }
}
