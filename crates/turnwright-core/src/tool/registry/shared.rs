//! What the clones of a registry share.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::watch;

use super::snapshot::Snapshot;

/// The current content, and who waits for changes.
#[derive(Default)]
pub(super) struct Shared {
    tools: RwLock<Arc<Snapshot>>,
    /// Created for the first one that waits: most registries belong to one turn.
    changes: RwLock<Option<watch::Sender<()>>>,
}

impl Shared {
    pub(super) fn new(tools: Arc<Snapshot>) -> Self {
        Shared {
            tools: RwLock::new(tools),
            changes: RwLock::default(),
        }
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Arc<Snapshot>> {
        self.tools.read()
    }

    pub(super) fn write(&self) -> Writing<'_> {
        Writing {
            tools: self.tools.write(),
            shared: self,
        }
    }

    pub(super) fn changed(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut changes = self.changes.write();
        let sender = changes.get_or_insert_with(|| watch::channel(()).0);
        let mut receiver = sender.subscribe();
        async move {
            if receiver.changed().await.is_err() {
                // The registry is gone and will not change.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Announces a change when it is dropped.
pub(super) struct Writing<'r> {
    tools: RwLockWriteGuard<'r, Arc<Snapshot>>,
    shared: &'r Shared,
}

impl Deref for Writing<'_> {
    type Target = Arc<Snapshot>;

    fn deref(&self) -> &Arc<Snapshot> {
        &self.tools
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Arc<Snapshot> {
        &mut self.tools
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if let Some(changes) = &*self.shared.changes.read() {
            changes.send_replace(());
        }
    }
}
