//! Tools for the artifacts of the moment.

use super::tool::{ArtifactTool, ForgePolicy};
use super::{ArtifactKind, Inline, Query, Readable, text};
use crate::dispatch::DispatchContext;
use crate::error::Error;
use crate::registry::ToolRegistry;

/// The tools that read the artifacts of this dispatch as they are now, with their ids as an enum in each schema. No
/// artifact, no tools.
///
/// ```
/// use turnwright_core::artifact::forge_tools;
/// use turnwright_core::{DispatchContext, MergePolicy, Tool, ToolContext, ToolRegistry};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let log = Tool::dynamic("read_log", json!({ "type": "object" }))
///     .description("The log of the last night.")
///     .handler(|_: Value, _: ToolContext| async {
///         (0..10_000).map(|n| format!("{n} {}\n", if n == 4_711 { "ERROR disk full" } else { "ok" })).collect::<String>()
///     })
///     .build()?;
/// let ctx = DispatchContext::builder().tools(ToolRegistry::new([log])?).build();
/// let call = ctx.call("read_log", "{}").await;
///
/// let forged = forge_tools(&ctx)?;
/// let grep = forged.get("artifact_grep").expect("there is an artifact");
/// let answer = grep.executor(&ctx).call(json!({ "callId": call.id(), "pattern": "ERROR" })).await?;
/// assert!(answer.as_text().unwrap().starts_with("4711:4711 ERROR disk full"));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// `E_ARTIFACT_ID_COLLISION` if a call and a retrievable have the same id; `E_INVALID_INITIAL_TOOL_VALUE` if a kind has a
/// query that is not well defined.
pub fn forge_tools(ctx: &DispatchContext) -> Result<ToolRegistry, Error> {
    ForgePolicy::Enumerated.forge(ctx)
}

impl ForgePolicy {
    /// The tools that read the artifacts of this dispatch as they are now.
    ///
    /// # Errors
    /// As [`forge_tools`].
    pub fn forge(self, ctx: &DispatchContext) -> Result<ToolRegistry, Error> {
        let readable = Readable::of(ctx)?;
        let mut kinds = Kinds::default();
        readable.kinds().for_each(|kind| kinds.add(kind));
        if self == ForgePolicy::Stable {
            kinds.add_promised(ctx);
        }
        let registry = ToolRegistry::default();
        for query in kinds.queries() {
            // Two kinds may have a query in common.
            if !registry.has(query.name()) {
                registry.register(ArtifactTool::forge(query, &readable, self)?)?;
            }
        }
        Ok(registry)
    }
}

/// The kinds for which tools are forged, in the order in which they came.
#[derive(Default)]
struct Kinds(Vec<ArtifactKind>);

impl Kinds {
    fn add(&mut self, kind: ArtifactKind) {
        if !self.0.contains(&kind) {
            self.0.push(kind);
        }
    }

    /// Kinds that will come: a tool whose output is never inline is there, so that the list of tools need not change
    /// when it is called.
    fn add_promised(&mut self, ctx: &DispatchContext) {
        for tool in ctx.tools().all() {
            if tool.inline() == Inline::Never {
                self.add(tool.artifact_kind());
            }
        }
    }

    fn queries(&self) -> impl Iterator<Item = &'static Query> {
        let every = match self.0.is_empty() {
            true => &[],
            false => text::queries(),
        };
        every
            .iter()
            .chain(self.0.iter().flat_map(|kind| kind.queries()))
    }
}
