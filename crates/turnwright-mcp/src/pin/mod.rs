//! Pins: digests of what servers said when a person looked at it, so that later changes are noticed.

mod compare;
mod lock_file;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use parking_lot::Mutex;

pub use compare::{Change, Difference};
pub use lock_file::{LockFile, LockFileError, LockedServer, LockedTool};

/// When a definition is accepted.
///
/// ```
/// use turnwright_mcp::{Mcp, McpServer, Pinning};
///
/// let files = McpServer::stdio("files-server", ["/data"]).alias("files");
/// let mcp = Mcp::new([files]).lock_file("mcp.lock.json").pinning(Pinning::Pinned);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pinning {
    /// Only what is in the lock file. Tools that were added, changed, renamed or removed since are withheld.
    Pinned,
    /// What a server says first, until it is restarted with another lock file. Servers in the lock file are compared with it;
    /// others are pinned in memory when they are first seen. The default of the library.
    #[default]
    TrustOnFirstUse,
    /// Whatever a server says.
    Unpinned,
}

/// The pins of one server, and when a definition is accepted.
pub(crate) struct Pins {
    pinning: Pinning,
    /// With [`Pinning::TrustOnFirstUse`], set when the server is first seen.
    pinned: Mutex<Option<Arc<LockedServer>>>,
}

impl Pins {
    pub(crate) fn new(pinning: Pinning, pinned: Option<LockedServer>) -> Self {
        Pins {
            pinning,
            pinned: Mutex::new(pinned.map(Arc::new)),
        }
    }

    /// Compares what the server says with its pins.
    pub(crate) fn differences(&self, seen: &Arc<LockedServer>) -> Vec<Difference> {
        let mut pinned = self.pinned.lock();
        match (self.pinning, &*pinned) {
            (Pinning::Unpinned, _) => Vec::new(),
            (_, Some(pinned)) => compare::compare(pinned, seen),
            (Pinning::TrustOnFirstUse, None) => {
                *pinned = Some(Arc::clone(seen));
                Vec::new()
            }
            (Pinning::Pinned, None) => vec![Difference::of_server(Change::NewServer)],
        }
    }
}
