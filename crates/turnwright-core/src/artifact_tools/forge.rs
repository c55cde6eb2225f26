//! Tools for the artifacts of the moment.

#[cfg(test)]
mod tests;

use std::ptr;
use std::sync::Arc;

use super::ForgePolicy;
use super::readable::{Current, Horizon, News};
use super::tool::ArtifactTool;
use crate::artifact::{ArtifactKind, Inline, Query, text};
use crate::error::Error;
use crate::tool::Tool;
use crate::tool::context::TurnContext;
use crate::tool::registry::{Exchange, SnapshotMark, ToolRegistry};

/// The tools that read the artifacts of this dispatch as they are now, with their ids as an enum in each schema. No
/// artifact, no tools.
///
/// ```
/// use turnwright_core::artifact_tools::forge_tools;
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
pub fn forge_tools(ctx: &TurnContext) -> Result<ToolRegistry, Error> {
    ForgePolicy::Enumerated.forge(ctx)
}

impl ForgePolicy {
    /// The tools that read the artifacts of this dispatch as they are now.
    ///
    /// # Errors
    /// As [`forge_tools`].
    pub fn forge(self, ctx: &TurnContext) -> Result<ToolRegistry, Error> {
        let registry = ToolRegistry::default();
        Forge::new(self).refresh_in(&registry, ctx)?;
        Ok(registry)
    }
}

/// The artifact tools of one dispatch, kept up to date before each iteration.
///
/// They read what can be read at the last refresh. What somebody else did to one of them meanwhile, on purpose, stays: one
/// that was taken away does not come back, one that was replaced stays replaced.
pub(crate) struct Forge {
    policy: ForgePolicy,
    current: Arc<Current>,
    seen: Horizon,
    /// The registry when promises were last looked for.
    looked_at: SnapshotMark,
    /// The kinds that have their tools.
    kinds: Vec<ArtifactKind>,
    /// The tools that name what they read.
    named: Vec<Named>,
}

/// A tool whose schema names what it reads.
#[derive(Clone)]
struct Named {
    query: &'static Query,
    reads: Vec<String>,
    tool: Tool,
}

impl Forge {
    pub(crate) fn new(policy: ForgePolicy) -> Self {
        Forge {
            policy,
            current: Arc::default(),
            seen: Horizon::default(),
            looked_at: SnapshotMark::default(),
            kinds: Vec::new(),
            named: Vec::new(),
        }
    }

    /// Registers what is missing among the dispatch's tools, and lets those that are there read what can be read now. If it
    /// fails, nothing has changed.
    ///
    /// # Errors
    /// As [`forge_tools`].
    pub(crate) fn refresh(&mut self, ctx: &TurnContext) -> Result<(), Error> {
        self.refresh_in(ctx.tools(), ctx)
    }

    fn refresh_in(&mut self, registry: &ToolRegistry, ctx: &TurnContext) -> Result<(), Error> {
        let unseen = self.seen.look(ctx);
        let promises = self.policy == ForgePolicy::Stable && !ctx.tools().is_at(&self.looked_at);
        if unseen.is_empty() && !promises {
            return Ok(());
        }
        let known = self.current.now();
        let news = known.news(ctx, &unseen)?;
        // Held no longer, so that what is known can be added to where it is.
        drop(known);
        match self.policy {
            ForgePolicy::Stable => self.refresh_stable(registry, ctx, news)?,
            ForgePolicy::Enumerated => self.refresh_named(registry, news)?,
        }
        self.seen = unseen.until();
        Ok(())
    }

    /// The tools of a kind come with its first artifact, or with the first tool that promises one, and then stay.
    fn refresh_stable(
        &mut self,
        registry: &ToolRegistry,
        ctx: &TurnContext,
        news: Vec<News>,
    ) -> Result<(), Error> {
        let mut kinds = Vec::new();
        let mut add = |kind: ArtifactKind| {
            if !self.kinds.contains(&kind) && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        };
        news.iter().flat_map(News::kinds).for_each(&mut add);
        let mut looked_at = None;
        if !ctx.tools().is_at(&self.looked_at) {
            // A tool whose output is never inline is there: with it, so that the list need not change when it is called.
            let promised = |tool: &&Tool| tool.inline() == Inline::Never;
            let survey = ctx.tools().survey(|tools| {
                tools
                    .filter(promised)
                    .map(Tool::artifact_kind)
                    .for_each(&mut add);
            });
            looked_at = Some(survey.1);
        }
        let queries = missing_queries(&self.kinds, &kinds);
        let tools: Result<Vec<Exchange>, Error> = queries
            .into_iter()
            .map(|query| ArtifactTool::stable(query, &self.current).map(Exchange::Lay))
            .collect();
        let tools = tools?;
        self.current.learn(news);
        self.kinds.append(&mut kinds);
        if let Some(mark) = looked_at {
            self.looked_at = mark;
        }
        if !tools.is_empty() {
            registry.exchange(tools, &mut self.looked_at);
        }
        Ok(())
    }

    /// Tools come, change and go with what they can read.
    fn refresh_named(&mut self, registry: &ToolRegistry, news: Vec<News>) -> Result<(), Error> {
        if news.is_empty() {
            return Ok(());
        }
        // On a copy: a tool that cannot be made leaves all as it was.
        let mut readable = self.current.now();
        let _gone = readable.learn(news);
        let mut kinds = Vec::new();
        for kind in readable.kinds() {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let (mut named, mut exchanges) = (Vec::new(), Vec::new());
        for query in missing_queries(&[], &kinds) {
            let reads: Vec<String> = readable.for_query(query).ids().map(str::to_owned).collect();
            let old = self.named.iter().find(|old| old.is_of(query));
            if let Some(old) = old.filter(|old| ptr::eq(old.query, query) && old.reads == reads) {
                named.push(old.clone());
                continue;
            }
            let tool = ArtifactTool::naming(query, &reads, &self.current)?;
            exchanges.push(match old {
                Some(old) => old.give_way(Some(&tool)),
                None => Exchange::Lay(tool.clone()),
            });
            named.push(Named { query, reads, tool });
        }
        let is_still_there = |old: &&Named| named.iter().any(|it| it.is_of(old.query));
        let over = self.named.iter().filter(|old| !is_still_there(old));
        exchanges.extend(over.map(|old| old.give_way(None)));
        self.current.set(readable);
        self.named = named;
        if !exchanges.is_empty() {
            registry.exchange(exchanges, &mut self.looked_at);
        }
        Ok(())
    }
}

impl Named {
    fn is_of(&self, query: &Query) -> bool {
        self.query.name() == query.name()
    }

    fn give_way(&self, new: Option<&Tool>) -> Exchange {
        Exchange::Renew {
            old: self.tool.clone(),
            new: new.cloned(),
        }
    }
}

/// The queries of kinds that are new beside those that are known, each name once: the first of a name counts. Those of text
/// come with the first kind of all.
fn missing_queries(known: &[ArtifactKind], new: &[ArtifactKind]) -> Vec<&'static Query> {
    if new.is_empty() {
        return Vec::new();
    }
    let (before, mut missing) = match known.is_empty() {
        true => (&[][..], text::queries().iter().collect()),
        false => (text::queries(), Vec::new()),
    };
    for query in new.iter().flat_map(ArtifactKind::queries) {
        let is_it = |other: &Query| other.name() == query.name();
        let mut there = before
            .iter()
            .chain(known.iter().flat_map(ArtifactKind::queries));
        if !there.any(is_it) && !missing.iter().any(|other| is_it(other)) {
            missing.push(query);
        }
    }
    missing
}
