//! Announced changes in the lifecycle without sessions, where a server sends them only on request (`subscriptions/listen`).

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use rmcp::RoleClient;
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, ServiceError};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::handler::Handler;

/// How long the first list of tools waits for the subscription.
const FIRST_WAIT: Duration = Duration::from_secs(2);

/// The longest delay before another attempt.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(60);

/// Returns the delays before further attempts.
pub(crate) fn delays() -> impl Iterator<Item = Duration> + Send {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_secs(1))
        .with_max_delay(MAX_DELAY)
        .without_max_times()
        .build()
}

/// Requests announcements for as long as the connection lasts. Returns once the server has acknowledged that or cannot do it, so that
/// no change after the next list is missed.
pub(super) async fn subscribe(peer: Peer<RoleClient>, handler: Handler) {
    let (tried, mut first) = watch::channel(false);
    tokio::spawn(listen(peer, handler, tried));
    // Later is possible too: the list is then read once more.
    let _ = timeout(FIRST_WAIT, first.wait_for(|tried| *tried)).await;
}

async fn listen(peer: Peer<RoleClient>, handler: Handler, tried: watch::Sender<bool>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    for delay in delays() {
        match peer.listen(filter.clone()).await {
            Ok(mut subscription) => {
                let accepted = subscription.acknowledged().tools_list_changed;
                handler.announces(accepted == Some(true));
                // What changed before it is not announced.
                handler.note_change();
                tried.send_replace(true);
                while let Ok(Some(notification)) = subscription.next().await {
                    if let ServerNotification::ToolListChangedNotification(_) = notification {
                        handler.note_change();
                    }
                }
                handler.announces(false);
            }
            // It does not know the method.
            Err(ServiceError::McpError(_)) => return,
            Err(_) => {}
        }
        if peer.is_transport_closed() {
            return;
        }
        tried.send_replace(true);
        sleep(delay).await;
    }
}
