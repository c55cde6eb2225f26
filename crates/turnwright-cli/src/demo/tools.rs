//! The tools of the demo.

use turnwright::Json;
use turnwright::prelude::*;
use turnwright::spool::ByteStream;

use super::incident;

/// The number of lines per chunk.
const CHUNK: u64 = 4_096;

/// The log of a service for the last hours.
#[tool(effects = "read_only", timeout_secs = 60)]
pub(super) async fn read_log(
    ctx: &ToolContext,
    /// Service.
    #[arg(min_length = 1, max_length = 40, example = "checkout")]
    service: String,
    /// Hours back.
    #[arg(min = 1, max = 48)]
    hours: u8,
) -> ByteStream {
    ctx.progress(format!("reading the log of {service}, {hours} hours"));
    let (sender, stream) = ByteStream::channel(4);
    // Streamed to the spool: never all of it in memory.
    tokio::spawn(async move {
        let mut next = 0;
        while next < incident::LINES {
            let mut chunk = String::new();
            let end = (next + CHUNK).min(incident::LINES);
            (next..end).for_each(|n| incident::line(n, &mut chunk));
            if sender.send(chunk).await.is_err() {
                return;
            }
            next = end;
        }
    });
    stream
}

/// The metrics of all services for last night, as JSON.
#[tool(effects = "read_only", inline = "never")]
pub(super) async fn read_metrics() -> Json<serde_json::Value> {
    Json(incident::metrics())
}

/// A service that can be restarted.
#[derive(turnwright::serde::Deserialize, turnwright::schemars::JsonSchema)]
#[serde(crate = "turnwright::serde", rename_all = "kebab-case")]
#[schemars(crate = "turnwright::schemars")]
pub(super) enum Service {
    CheckoutApi,
    OrdersDb,
    PaymentsApi,
}

/// Restarts a service with its last good configuration. Customers see errors for some seconds.
#[tool(effects = "writes", timeout_secs = 120)]
pub(super) async fn restart_service(
    /// Service.
    service: Service,
    /// Reason, for the people on call.
    #[arg(min_length = 10, max_length = 200)]
    reason: &str,
) -> String {
    let name = match service {
        Service::CheckoutApi => "checkout-api",
        Service::OrdersDb => "orders-db",
        Service::PaymentsApi => "payments-api",
    };
    format!("{name} was restarted and is healthy again. Noted for the people on call: {reason}")
}
