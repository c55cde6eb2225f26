//! Pins: digests of what servers said when a person looked at it, so that later changes are noticed.

mod compare;
mod lock_file;

#[cfg(test)]
mod tests;

pub(crate) use compare::compare;
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
