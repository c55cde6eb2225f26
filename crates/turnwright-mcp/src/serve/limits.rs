//! Limits for what clients may ask of the server.

use std::time::Duration;

/// Limits of a server. See [`McpService::limits`](super::McpService::limits).
///
/// ```
/// use turnwright_mcp::serve::ServeLimits;
///
/// let limits = ServeLimits { calls: 8, ..ServeLimits::default() };
/// assert_eq!(limits.request_bytes, 4 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeLimits {
    /// Maximum size of one request in bytes. Default: 4 MiB.
    pub request_bytes: usize,
    /// Maximum size in bytes of the bodies of all HTTP requests that are being read or handled, as far as they have arrived. Further
    /// requests get status 503. Default: 32 MiB.
    pub requests_bytes: usize,
    /// How long an HTTP client may take to send the head of a request, and how long for its body. A connection without a request is
    /// closed after this time. Default: 30 s.
    pub read: Duration,
    /// Maximum number of open HTTP connections. Further clients wait. Default: 512.
    pub connections: usize,
    /// Maximum number of calls that run at the same time. Further calls wait. Default: 64.
    pub calls: usize,
    /// Maximum number of calls that wait to run. Further calls get an error. Default: 256.
    pub queued_calls: usize,
    /// Maximum number of tools in one page of a list. Default: 100.
    pub page: usize,
    /// Maximum size in bytes of a text that is sent in the result of a call. A larger one is sent as a link to a resource. A tool
    /// can override it with [`inline`](turnwright_core::ToolBuilder::inline). Default: 64 KiB.
    pub inline_bytes: u64,
    /// Maximum size in bytes of an image or audio that is sent in the result of a call. A larger one is sent as a link. Default: 700
    /// KiB, so that the message stays below 1 MiB, which is as much as some clients accept over HTTP.
    pub media_bytes: u64,
    /// Maximum size of one result in bytes. The rest is cut off, and the client reads that it was. Default: 64 MiB.
    pub result_bytes: u64,
    /// Maximum number of bytes that one `resources/read` returns. Default: 128 KiB, so that the message stays below 1 MiB however
    /// much of the content is escaped.
    pub read_bytes: u64,
    /// Maximum number of large results that are kept for reading. The oldest is dropped first. Default: 100.
    pub results: usize,
    /// Maximum size of all kept results in bytes. Default: 256 MiB.
    pub results_bytes: u64,
    /// Maximum number of calls that wait for an answer of a client without a session (protocol 2026-07-28). The oldest is cancelled
    /// first. They count as running calls. Default: 32.
    pub waiting_calls: usize,
    /// How long such a call waits. Default: 5 min.
    pub waiting: Duration,
    /// Maximum number of open HTTP sessions. Further clients get status 503. Default: 100.
    pub sessions: usize,
    /// How long an HTTP session stays open while its client neither sends anything nor reads a stream, and no call is running. A
    /// call that waits for an answer of the client is cancelled then. Default: 5 min.
    pub session_idle: Duration,
    /// Maximum number of `subscriptions/listen` streams (protocol 2026-07-28). Further ones get an error. Default: 100.
    pub subscriptions: usize,
}

impl Default for ServeLimits {
    fn default() -> Self {
        ServeLimits {
            request_bytes: 4 << 20,
            requests_bytes: 32 << 20,
            read: Duration::from_secs(30),
            connections: 512,
            calls: 64,
            queued_calls: 256,
            page: 100,
            inline_bytes: 64 << 10,
            media_bytes: 700 << 10,
            result_bytes: 64 << 20,
            read_bytes: 128 << 10,
            results: 100,
            results_bytes: 256 << 20,
            waiting_calls: 32,
            waiting: Duration::from_secs(5 * 60),
            sessions: 100,
            session_idle: Duration::from_secs(5 * 60),
            subscriptions: 100,
        }
    }
}
