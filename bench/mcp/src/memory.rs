//! The memory of many tools, in a process of its own.

use std::error::Error;
use std::process::Command;

use turnwright_bench_measure::resident_memory_kib;
use turnwright_mcp::{Limits, Mcp};

use crate::{calls, server};

/// What the tools use.
pub(crate) struct Used {
    pub(crate) tools: usize,
    pub(crate) withheld: usize,
    /// Bytes of the definitions as text.
    pub(crate) text: f64,
    /// Resident bytes beyond those before.
    pub(crate) resident: f64,
}

/// Measures in a child process.
pub(crate) fn in_a_child() -> Result<Used, String> {
    server::definitions()?;
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(this).arg("memory").output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers[..] {
        [tools, withheld, text, resident] => Ok(Used {
            tools: tools as usize,
            withheld: withheld as usize,
            text,
            resident,
        }),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Prints the numbers of [`Used`].
pub(crate) fn measure() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let limits = Limits {
            tools: 2_000,
            ..Limits::default()
        };
        let vectors = std::env::var("TURNWRIGHT_VECTORS").unwrap_or_default();
        let server = calls::server("many")?.limits(limits).env("MANY_TOOLS", "1");
        let server = match vectors.is_empty() {
            true => server,
            false => server.env("TURNWRIGHT_VECTORS", vectors),
        };
        let before = resident_memory_kib()?;
        let mcp = Mcp::new([server]);
        mcp.start().await?;
        let after = resident_memory_kib()?;
        let tools = mcp.tools();
        let text: usize = tools
            .iter()
            .map(|tool| tool.description().len() + tool.schema().document().to_string().len())
            .sum();
        let withheld = mcp.status()[0].withheld.len();
        println!(
            "{} {withheld} {text} {}",
            tools.len(),
            (after - before) * 1024
        );
        Ok(())
    })
}
