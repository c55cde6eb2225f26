//! A connected server: which of its tools are offered, and which are withheld.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use turnwright_core::Tool;

use super::offer::{self, Offer};
use super::resources::{self, Offered};
use super::status::{Withheld, WithheldKind};
use super::supervisor::Supervised;
use crate::definition::{Definition, exposed_name};
use crate::pin::{Difference, LockedServer};
use crate::protocol::Session;

/// A connected server and what it offers.
pub(super) struct Ready {
    pub(super) session: Arc<dyn Session>,
    /// The number of changes that the server had announced when its list was requested.
    announced: u64,
    listed_at: Instant,
    pub(super) tools: Vec<Tool>,
    pub(super) withheld: Vec<Withheld>,
    pub(super) left_out: Vec<Withheld>,
    pub(super) warnings: Vec<String>,
    pub(super) differences: Vec<Difference>,
    /// What the server says, as it would be pinned.
    pub(super) seen: Arc<LockedServer>,
}

impl Ready {
    /// Compares what a server says with its pins, and builds its tools. The list was requested at a time, after a number of announced
    /// changes.
    pub(super) fn new(
        server: &Arc<Supervised>,
        session: Arc<dyn Session>,
        (announced, listed_at): (u64, Instant),
        offer: Offer,
    ) -> Self {
        let config = server.config();
        let instructions = session.about().instructions.clone();
        let seen = LockedServer::of(config.source(), instructions, &offer.definitions);
        let seen = Arc::new(seen);
        let differences = server.differences(&seen);
        let mut withheld = offer.withheld;
        let (mut tools, mut left_out, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let own = match config.resources && session.about().has_resources {
            true => resources::tools(server, &differences),
            false => Offered::default(),
        };
        for definition in &offer.definitions {
            let because = |kind: WithheldKind, reason: String| Withheld {
                tool: definition.name().to_owned(),
                reason,
                kind,
            };
            if let Some(reason) = config.filter.reason_against(definition.name()) {
                left_out.push(because(WithheldKind::LeftOut, reason));
                continue;
            }
            let exposed = exposed_name(&config.alias, definition.name());
            if own.tools.iter().any(|tool| tool.name() == exposed) {
                let reason =
                    format!("`{exposed}` is the name of a tool for the server's resources");
                withheld.push(because(WithheldKind::Unusable, reason));
                continue;
            }
            // First whether it can be used at all: pinning would not help then.
            match (
                offer::tool(definition, server),
                reason_against(definition, &differences),
            ) {
                (Ok(built), None) => {
                    tools.push(built.tool);
                    warnings.extend(built.warning);
                }
                (Ok(_), Some(reason)) => withheld.push(because(WithheldKind::Unpinned, reason)),
                (Err(reason), _) => withheld.push(because(WithheldKind::Unusable, reason)),
            }
        }
        tools.extend(own.tools);
        withheld.extend(own.withheld);
        Ready {
            session,
            announced,
            listed_at,
            tools,
            withheld,
            left_out,
            warnings,
            differences,
            seen,
        }
    }

    /// Returns whether the server has announced no change since its list was requested.
    pub(super) fn is_current(&self) -> bool {
        *self.session.tool_changes().borrow() == self.announced
    }

    /// Returns whether the list is older than this, and the server would not announce a change.
    pub(super) fn is_stale(&self, age: Duration) -> bool {
        self.listed_at.elapsed() >= age && !self.session.announces_changes()
    }
}

/// Returns why a definition is withheld, if it is.
fn reason_against(definition: &Definition, differences: &[Difference]) -> Option<String> {
    let concerns = |difference: &&Difference| match &difference.tool {
        Some(tool) => tool == definition.name(),
        None => difference.withholds_all(),
    };
    let difference = differences.iter().find(concerns)?;
    Some(difference.reason())
}
