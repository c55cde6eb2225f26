//! Changes of the list of tools.

use rmcp::model::{ServerNotification, ToolListChangedNotification};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use turnwright_core::{Cancellation, ToolRegistry};

/// Waits for changes of what clients see.
struct Changes {
    tools: ToolRegistry,
    seen: Vec<String>,
}

impl Changes {
    fn new(tools: &ToolRegistry) -> Self {
        Changes {
            seen: visible(tools),
            tools: tools.clone(),
        }
    }

    async fn next(&mut self) {
        loop {
            let changed = self.tools.changed();
            let now = visible(&self.tools);
            if now != self.seen {
                self.seen = now;
                return;
            }
            changed.await;
        }
    }
}

fn visible(tools: &ToolRegistry) -> Vec<String> {
    let tools = tools.visible();
    let fingerprints = tools.iter().map(|tool| tool.fingerprint().to_owned());
    fingerprints.collect()
}

/// Announces changes to the client of a session, until it has ended.
pub(super) async fn announce(tools: ToolRegistry, peer: Peer<RoleServer>, ended: Cancellation) {
    let mut changes = Changes::new(&tools);
    loop {
        tokio::select! {
            () = changes.next() => {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
            () = ended.cancelled() => return,
        }
    }
}

/// Announces changes to a client that listens, until it stops.
pub(super) async fn listen(
    tools: &ToolRegistry,
    subscription: &SubscriptionContext,
) -> Result<(), ErrorData> {
    if subscription.accepted().tools_list_changed != Some(true) {
        subscription.cancelled().await;
        return Ok(());
    }
    let mut changes = Changes::new(tools);
    loop {
        tokio::select! {
            () = changes.next() => {
                let changed = ToolListChangedNotification::default();
                let changed = ServerNotification::ToolListChangedNotification(changed);
                if subscription.sink().send(changed).await.is_err() {
                    return Ok(());
                }
            }
            () = subscription.cancelled() => return Ok(()),
        }
    }
}
