//! The start of servers.

use std::error::Error;
use std::time::Instant;

use turnwright_mcp::{Mcp, ServerState};

use crate::calls::server;

/// How long servers take to start.
pub(crate) struct Started {
    pub(crate) one_ms: f64,
    pub(crate) ten_ms: f64,
}

/// Starts one server, and then ten at once, several times. Returns the medians.
pub(crate) async fn measure() -> Result<Started, Box<dyn Error>> {
    Ok(Started {
        one_ms: median(1).await?,
        ten_ms: median(10).await?,
    })
}

async fn median(servers: usize) -> Result<f64, Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..9 {
        times.push(start(servers).await?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

async fn start(servers: usize) -> Result<f64, Box<dyn Error>> {
    let servers: Result<Vec<_>, _> = (0..servers)
        .map(|number| server(&format!("s{number}")))
        .collect();
    let mcp = Mcp::new(servers?);
    let begin = Instant::now();
    mcp.start().await?;
    let took = begin.elapsed().as_secs_f64() * 1_000.0;
    let connected = |state: &ServerState| matches!(state, ServerState::Connected { .. });
    if mcp.status().iter().all(|status| connected(&status.state)) {
        Ok(took)
    } else {
        Err("a server did not start".into())
    }
}
