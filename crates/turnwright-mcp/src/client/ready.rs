//! A connected server: which of its tools are offered, and which are withheld.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use turnwright_core::Tool;

use super::offer::{self, Listed, Offer};
use super::resources::{self, Offered};
use super::status::{Withheld, WithheldKind};
use super::supervisor::Supervised;
use crate::definition::{Definition, exposed_name};
use crate::pin::{Difference, LockedServer};
use crate::protocol::{Failure, Session};

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
    /// changes. Takes long for a long list.
    ///
    /// # Errors
    /// The time for the start of a server is over.
    pub(super) fn new(
        server: &Arc<Supervised>,
        session: Arc<dyn Session>,
        (announced, listed_at): (u64, Instant),
        listed: Listed,
    ) -> Result<Self, Failure> {
        let config = server.config();
        let offer = Offer::read(listed, config);
        let instructions = session.about().instructions.clone();
        let seen = LockedServer::of(config.source(), instructions, &offer.definitions);
        let seen = Arc::new(seen);
        let differences = server.differences(&seen);
        let mut withheld = offer.withheld;
        let (mut tools, mut left_out, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let own = if config.resources && session.about().has_resources {
            resources::tools(server, &differences)
        } else {
            Offered::default()
        };
        let reasons = Reasons::new(&differences);
        for definition in &offer.definitions {
            let limit = config.limits.start;
            if listed_at.elapsed() >= limit {
                return Err(Failure::Timeout(limit));
            }
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
            match (offer::tool(definition, server), reasons.against(definition)) {
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
        Ok(Ready {
            session,
            announced,
            listed_at,
            tools,
            withheld,
            left_out,
            warnings,
            differences,
            seen,
        })
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

/// Why definitions are withheld because of differences.
struct Reasons<'d> {
    /// The difference that withholds all of them.
    all: Option<&'d Difference>,
    of_tools: HashMap<&'d str, &'d Difference>,
}

impl<'d> Reasons<'d> {
    fn new(differences: &'d [Difference]) -> Self {
        let of_tool = |difference: &'d Difference| Some((difference.tool.as_deref()?, difference));
        Reasons {
            all: differences.iter().find(|one| one.withholds_all()),
            of_tools: differences.iter().filter_map(of_tool).collect(),
        }
    }

    fn against(&self, definition: &Definition) -> Option<String> {
        let difference = self
            .all
            .or_else(|| self.of_tools.get(definition.name()).copied());
        difference.map(Difference::reason)
    }
}
