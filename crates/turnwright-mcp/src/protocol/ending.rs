//! Why a connection has ended.

use tokio::sync::watch;

/// Why a connection has ended, once it has. The first reason counts. A handle: clones share it.
#[derive(Clone, Debug)]
pub(super) struct Ending(watch::Sender<Option<String>>);

impl Default for Ending {
    fn default() -> Self {
        Ending(watch::Sender::new(None))
    }
}

impl Ending {
    /// Ends the connection for this reason.
    pub(super) fn set(&self, why: String) {
        self.0.send_if_modified(|reason| {
            let first = reason.is_none();
            reason.get_or_insert(why);
            first
        });
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Returns the reason, or this one if none is known.
    pub(super) fn or(&self, other: &str) -> String {
        self.0.borrow().clone().unwrap_or_else(|| other.to_owned())
    }

    /// Waits until there is a reason.
    pub(super) async fn wait(&self) {
        // The sender is in `self`.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }
}
