//! What is known about a server.

use crate::pin::Difference;

/// The state of one server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The alias.
    pub alias: String,
    /// Whether it is connected.
    pub state: ServerState,
    /// Whether a person must log in before it can be used: see [`OAuth::prompt`](crate::OAuth::prompt).
    pub requires_login: bool,
    /// The names of its tools, as models see them.
    pub tools: Vec<String>,
    /// The tools that are not offered to models, and why.
    pub withheld: Vec<Withheld>,
    /// The tools that [`McpServer::allow`](crate::McpServer::allow) or [`McpServer::deny`](crate::McpServer::deny) leaves out.
    pub left_out: Vec<Withheld>,
    /// What is wrong with tools that are offered nevertheless: an output schema that cannot be used, for example.
    pub warnings: Vec<String>,
    /// How it differs from its pins.
    pub differences: Vec<Difference>,
}

/// Whether a server is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// It has not been started: servers start with the first turn.
    Stopped,
    /// It is being started.
    Starting,
    /// It requires authorisation, and a person may have been asked: see [`OAuth::prompt`](crate::OAuth::prompt).
    Authorizing,
    /// It is connected.
    Connected {
        /// The name that it gives itself, shortened and escaped.
        name: String,
        /// The version that it gives itself, shortened and escaped.
        version: String,
        /// The protocol version that was negotiated.
        protocol_version: String,
    },
    /// It failed to start, or the connection was lost. It is restarted after a while.
    Down {
        /// The reason.
        reason: String,
    },
}

/// A tool that is not offered to models.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Withheld {
    /// The name that the server uses, or its number in the list if it has none. Third-party text: escape it before you show it.
    pub tool: String,
    /// The reason.
    pub reason: String,
    /// What kind of reason it is.
    pub kind: WithheldKind,
}

impl Withheld {
    pub(super) fn new(tool: impl Into<String>, kind: WithheldKind, reason: String) -> Self {
        Withheld {
            tool: tool.into(),
            reason,
            kind,
        }
    }
}

/// Why a tool is not offered to models.
///
/// ```
/// use turnwright_mcp::{ServerStatus, WithheldKind};
///
/// /// The tools that can be used once their definitions are pinned.
/// fn to_review(status: &ServerStatus) -> impl Iterator<Item = &str> {
///     let changed = status.withheld.iter().filter(|item| item.kind == WithheldKind::Unpinned);
///     changed.map(|item| item.tool.as_str())
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WithheldKind {
    /// The definition differs from its pin. The tool is offered once the definition is pinned.
    Unpinned,
    /// The definition cannot be used, whether it is pinned or not: its schema is invalid, for example.
    Unusable,
    /// The settings of the server leave the tool out.
    LeftOut,
}
