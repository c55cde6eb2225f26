//! Changes of the list of tools.

use rmcp::model::{ServerNotification, ToolListChangedNotification};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use turnwright_core::{Cancellation, ToolRegistry};

/// Announces changes of what clients see, until an announcement fails.
async fn announce_by<F, E>(tools: &ToolRegistry, send: impl Fn() -> F)
where
    F: Future<Output = Result<(), E>>,
{
    let mut seen = visible(tools);
    loop {
        let changed = tools.changed();
        let now = visible(tools);
        if now == seen {
            changed.await;
            continue;
        }
        seen = now;
        if send().await.is_err() {
            return;
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
    tokio::select! {
        () = announce_by(&tools, || peer.notify_tool_list_changed()) => {}
        () = ended.cancelled() => {}
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
    let changed = || {
        let changed = ToolListChangedNotification::default();
        let changed = ServerNotification::ToolListChangedNotification(changed);
        subscription.sink().send(changed)
    };
    tokio::select! {
        () = announce_by(tools, changed) => {}
        () = subscription.cancelled() => {}
    }
    Ok(())
}
