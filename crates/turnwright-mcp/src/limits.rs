//! Limits for what a server may send, and how long it may take.

use std::time::Duration;

/// Limits for one server. What exceeds a limit is an error of this server; other servers are not affected.
///
/// ```
/// use std::time::Duration;
/// use turnwright_mcp::Limits;
///
/// let limits = Limits { call_total: Duration::from_secs(30 * 60), ..Limits::default() };
/// assert_eq!(limits.message_bytes, 32 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size in bytes of one message, and of a list with all of its pages. Default: 32 MiB.
    pub message_bytes: usize,
    /// Maximum number of tools. Default: 1,000.
    pub tools: usize,
    /// Maximum number of resources in a list. Default: 10,000.
    pub resources: usize,
    /// Maximum number of prompts. Default: 1,000.
    pub prompts: usize,
    /// Maximum number of pages of a list. Default: 100.
    pub pages: usize,
    /// Maximum size of one tool definition in bytes. Default: 256 KiB.
    pub definition_bytes: usize,
    /// Maximum number of characters of a description or of instructions; the rest is cut off. Default: 10,000.
    pub description_chars: usize,
    /// Maximum age of the list of tools when a call is sent, if the server does not announce changes. An older one is read again
    /// first. Default: 60 s.
    pub list_age: Duration,
    /// Maximum time to start the server, to list its tools and to build them. Default: 60 s.
    pub start: Duration,
    /// Maximum time to wait for an answer without progress. Default: 60 s.
    pub idle: Duration,
    /// Maximum time for a call, however much progress the server reports. Default: 10 min.
    pub call_total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            message_bytes: 32 << 20,
            tools: 1_000,
            resources: 10_000,
            prompts: 1_000,
            pages: 100,
            definition_bytes: 256 << 10,
            description_chars: 10_000,
            list_age: Duration::from_secs(60),
            start: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            call_total: Duration::from_secs(10 * 60),
        }
    }
}
