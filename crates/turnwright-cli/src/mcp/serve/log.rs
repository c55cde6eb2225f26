//! Reports calls on standard error. Standard output may belong to the protocol.

use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;
use turnwright::event::{Event, EventKind};

use crate::terminal::one_line;

/// The most characters of a message.
const MESSAGE: usize = 300;

/// Reports calls, and counts those that are running.
#[derive(Clone)]
pub(super) struct CallLog {
    running: Arc<watch::Sender<u64>>,
}

impl Default for CallLog {
    fn default() -> Self {
        CallLog {
            running: Arc::new(watch::channel(0).0),
        }
    }
}

impl CallLog {
    /// Returns an observer that writes a line for each call.
    pub(super) fn observer(&self, json: bool) -> impl Fn(&Event) + Send + Sync + 'static {
        let log = self.clone();
        move |event| {
            log.count(&event.kind);
            if let Some(line) = line(&event.kind, json) {
                // The server is useful even if its log is not read.
                let _ = writeln!(anstream::stderr(), "{line}");
            }
        }
    }

    fn count(&self, event: &EventKind) {
        let change: fn(&mut u64) = match event {
            EventKind::ToolExecutionStart { .. } => |running| *running += 1,
            EventKind::ToolExecutionEnd { .. } => |running| *running = running.saturating_sub(1),
            _ => return,
        };
        self.running.send_modify(change);
    }

    /// Waits until no handler is running.
    pub(super) async fn ended(&self) {
        // The sender is in `self`.
        let mut running = self.running.subscribe();
        let _ = running.wait_for(|running| *running == 0).await;
    }
}

/// The line for an event, without arguments, which may be private.
fn line(event: &EventKind, json: bool) -> Option<String> {
    let (tool, what, why) = match event {
        EventKind::ToolCallRefused {
            tool, code, reason, ..
        } => (tool, "refused", reason.as_deref().unwrap_or(code)),
        EventKind::ToolExecutionEnd {
            tool,
            is_error: true,
            code,
            message,
            ..
        } => {
            let why = message.as_deref().or(*code);
            (tool, "failed", why.unwrap_or_default())
        }
        EventKind::ToolExecutionEnd { tool, .. } => (tool, "done", ""),
        EventKind::Warning { message, .. } => return Some(warning(message, json)),
        _ => return None,
    };
    Some(match (json, why) {
        (true, _) => {
            let why = Some(why).filter(|why| !why.is_empty());
            json!({ "tool": &**tool, "call": what, "reason": why }).to_string()
        }
        (false, "") => format!("{}: {what}", one_line(tool, 64)),
        (false, why) => format!("{}: {what}: {}", one_line(tool, 64), one_line(why, MESSAGE)),
    })
}

fn warning(message: &str, json: bool) -> String {
    if json {
        json!({ "warning": Value::from(message) }).to_string()
    } else {
        format!("warning: {}", one_line(message, MESSAGE))
    }
}
