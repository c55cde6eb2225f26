//! Builds the artifact tools of a dispatch.

#[cfg(test)]
mod tests;

use std::ptr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::ArtifactToolPolicy;
use super::readable::{Current, Readable};
use super::tool::{enumerated, stable};
use crate::artifact::{ArtifactKind, Inline, Query, text};
use crate::error::Error;
use crate::tool::Tool;
use crate::tool::context::TurnContext;
use crate::tool::registry::ToolRegistry;

/// Builds tools that read the current artifacts of this dispatch. Each schema lists the readable ids as an enum. Without
/// artifacts there are no tools.
///
/// ```
/// use turnwright_core::artifact_tools::build_artifact_tools;
/// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
/// use turnwright_core::tool::OnCollision;
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let log = Tool::dynamic("read_log", json!({ "type": "object" }))
///     .description("Last night's log.")
///     .handler(|_: Value, _: ToolContext| async {
///         (0..10_000).map(|n| format!("{n} {}\n", if n == 4_711 { "ERROR disk full" } else { "ok" })).collect::<String>()
///     })
///     .build()?;
/// let ctx = DispatchContext::builder().tools(ToolRegistry::new([log])?).build();
/// let call = ctx.call("read_log", "{}").await;
///
/// let built = build_artifact_tools(ctx.turn())?;
/// let grep = built.get("artifact_grep").expect("there is an artifact");
/// let answer = grep.call(&ctx, json!({ "callId": call.id(), "pattern": "ERROR" })).await?;
/// assert!(answer.as_text().unwrap().starts_with("4711:4711 ERROR disk full"));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// - `E_ARTIFACT_ID_COLLISION` if a call and a retrievable have the same id.
/// - `E_INVALID_INITIAL_TOOL_VALUE` if a kind has an invalid query.
pub fn build_artifact_tools(ctx: &TurnContext) -> Result<ToolRegistry, Error> {
    ArtifactToolPolicy::Enumerated.build_tools(ctx)
}

impl ArtifactToolPolicy {
    /// Builds tools that read the current artifacts of this dispatch.
    ///
    /// # Errors
    /// See [`build_artifact_tools`].
    pub fn build_tools(self, ctx: &TurnContext) -> Result<ToolRegistry, Error> {
        let registry = ToolRegistry::default();
        ArtifactToolSet::new(self).refresh_in(&registry, ctx)?;
        Ok(registry)
    }
}

/// The artifact tools of one dispatch, updated before each iteration.
///
/// They read the artifacts as of the last refresh. If other code unregisters or replaces one of these tools, a refresh does not
/// restore it. One that was pruned comes back.
pub(crate) struct ArtifactToolSet {
    policy: ArtifactToolPolicy,
    current: Arc<Current>,
    /// The kinds whose tools are registered. Under [`ArtifactToolPolicy::Stable`], tools are never removed.
    kinds: Vec<ArtifactKind>,
    made: Vec<Made>,
}

/// The artifact tools of a turn's dispatch, shared by the loop of the turn and middleware that turns results into handles.
#[derive(Default)]
pub(crate) struct SharedArtifactTools(Mutex<Option<ArtifactToolSet>>);

impl SharedArtifactTools {
    /// Starts with the tools of a dispatch. `None` if the runner has no artifact tools.
    pub(crate) fn begin(&self, forge: Option<ArtifactToolSet>) {
        *self.0.lock() = forge;
    }

    /// Updates the artifact tools. See [`ArtifactToolSet::refresh`].
    pub(crate) fn refresh(&self, ctx: &TurnContext) -> Result<(), Error> {
        match &mut *self.0.lock() {
            Some(forge) => forge.refresh(ctx),
            None => Ok(()),
        }
    }
}

/// A registered tool and its origin.
#[derive(Clone)]
struct Made {
    query: &'static Query,
    /// The ids listed in its schema. Empty under [`ArtifactToolPolicy::Stable`].
    ids: Vec<String>,
    tool: Tool,
}

impl ArtifactToolSet {
    pub(crate) fn new(policy: ArtifactToolPolicy) -> Self {
        ArtifactToolSet {
            policy,
            current: Arc::default(),
            kinds: Vec::new(),
            made: Vec::new(),
        }
    }

    /// Updates the artifact tools of the dispatch. On error, nothing has changed.
    ///
    /// # Errors
    /// See [`build_artifact_tools`].
    pub(crate) fn refresh(&mut self, ctx: &TurnContext) -> Result<(), Error> {
        self.refresh_in(ctx.tools(), ctx)
    }

    fn refresh_in(&mut self, registry: &ToolRegistry, ctx: &TurnContext) -> Result<(), Error> {
        let readable = Readable::of(ctx)?;
        let mut kinds = self.kinds.clone();
        let mut add = |kind: ArtifactKind| {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        };
        readable.kinds().for_each(&mut add);
        if self.policy == ArtifactToolPolicy::Stable {
            // Also when a tool exists whose output is never inlined, so that the list of tools does not change when it is called.
            ctx.tools().for_each(|tool| {
                if tool.inline() == Inline::Never {
                    add(tool.artifact_kind());
                }
            });
            if kinds.len() == self.kinds.len() {
                self.current.set(readable);
                self.register(registry, ctx, &[]);
                return Ok(());
            }
        }
        let mut made = Vec::new();
        for query in queries_of(&kinds) {
            let ids = match self.policy {
                ArtifactToolPolicy::Stable => Vec::new(),
                ArtifactToolPolicy::Enumerated => {
                    let able = readable.for_query(query);
                    able.ids().map(str::to_owned).collect()
                }
            };
            let is_same = |old: &&Made| ptr::eq(old.query, query) && old.ids == ids;
            made.push(match self.made.iter().find(is_same) {
                Some(old) => old.clone(),
                None => Made {
                    query,
                    tool: match self.policy {
                        ArtifactToolPolicy::Stable => stable(query, &self.current)?,
                        ArtifactToolPolicy::Enumerated => enumerated(query, &ids, &self.current)?,
                    },
                    ids,
                },
            });
        }
        self.current.set(readable);
        if self.policy == ArtifactToolPolicy::Stable {
            self.kinds = kinds;
        }
        let before = std::mem::replace(&mut self.made, made);
        self.register(registry, ctx, &before);
        Ok(())
    }

    /// Registers the tools that are not there, and removes those from before that are not needed any more.
    fn register(&self, registry: &ToolRegistry, ctx: &TurnContext, before: &[Made]) {
        for new in &self.made {
            if registry.add_artifact_tool(&new.tool) {
                ctx.warn(format!(
                    "the artifact tool `{}` replaces your tool of this name while there are artifacts to read: rename your tool",
                    new.tool.name()
                ));
            }
        }
        for old in before {
            if !self.made.iter().any(|new| new.is_of(old.query)) {
                registry.remove_artifact_tool(&old.tool);
            }
        }
    }
}

impl Made {
    fn is_of(&self, query: &Query) -> bool {
        self.query.name() == query.name()
    }
}

/// Returns the queries of these kinds, text queries first. If two queries have the same name, the first one is used.
fn queries_of(kinds: &[ArtifactKind]) -> Vec<&'static Query> {
    let mut queries: Vec<&'static Query> = Vec::new();
    if kinds.is_empty() {
        return queries;
    }
    let of_kinds = kinds.iter().flat_map(ArtifactKind::queries);
    for query in text::queries().iter().chain(of_kinds) {
        if !queries.iter().any(|other| other.name() == query.name()) {
            queries.push(query);
        }
    }
    queries
}
