//! Writes tools as JSON of the protocol.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use turnwright_core::event::Level;
use turnwright_core::{DispatchContext, Tool};

use super::codec::Codec;
use super::options::OptionMap;
use super::per_turn::warn_once;
use super::strict_schema::{self, Budget, Demand};

/// Keywords that many servers reject at the root of a schema.
const REJECTED_AT_ROOT: &[&str] = &[
    "anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "if",
];

/// The capacity of the cache. It is cleared when it is full.
const MAX_CACHED: usize = 10_000;

/// A cache of tools in JSON, keyed by fingerprint: they rarely change and can be large.
#[derive(Default)]
pub(crate) struct WrittenTools(Mutex<HashMap<String, Written>>);

/// A tool in JSON.
struct Written {
    text: Arc<str>,
    demand: Demand,
}

/// The tools of a request.
pub(super) struct RequestTools {
    /// The tools of the turn in JSON, followed by those of the provider.
    pub(super) texts: Vec<Arc<str>>,
    /// The names of tools that were left out, because servers of this protocol reject them.
    pub(super) withheld: Vec<String>,
}

/// Decides which tools a request can have.
pub(super) struct Admission<'c> {
    codec: &'c dyn Codec,
    budget: Option<Budget>,
}

impl<'c> Admission<'c> {
    pub(super) fn new(codec: &'c dyn Codec) -> Self {
        let budget = codec.strict_rules().map(Budget::new);
        Admission { codec, budget }
    }

    /// Adds a tool to the request.
    ///
    /// # Errors
    /// Returns why servers of this protocol reject the tool, or the request with it.
    pub(super) fn admit(&mut self, tool: &Tool) -> Result<Demand, String> {
        if let Some(why) = self.codec.rejects_tool(tool) {
            return Err(why);
        }
        let demand = match self.codec.strict_rules() {
            Some(rules) => strict_schema::check(tool.schema().document(), rules)?,
            None => Demand::default(),
        };
        self.take(demand)?;
        Ok(demand)
    }

    /// Adds a tool that was admitted before.
    fn take(&mut self, demand: Demand) -> Result<(), String> {
        match &mut self.budget {
            Some(budget) => budget.take(demand),
            None => Ok(()),
        }
    }
}

impl WrittenTools {
    /// Returns the tools of a turn, followed by those of the provider. A tool that servers of this protocol reject is
    /// left out, with a warning event, so that one tool does not break every request.
    pub(super) fn of(
        &self,
        codec: &dyn Codec,
        tools: &[Tool],
        options: &OptionMap,
        ctx: &DispatchContext,
    ) -> RequestTools {
        let theirs = options.provider_tools();
        let mut texts = Vec::with_capacity(tools.len() + theirs.len());
        let (mut rejected, mut hints) = (Vec::new(), Vec::new());
        let mut cache = self.0.lock();
        let mut admission = Admission::new(codec);
        for tool in tools {
            let known = cache.get(tool.fingerprint());
            let admitted = match known {
                Some(known) => admission.take(known.demand).map(|()| known.demand),
                None => admission.admit(tool),
            };
            let demand = match admitted {
                Ok(demand) => demand,
                Err(why) => {
                    rejected.push((tool.name(), why));
                    continue;
                }
            };
            if let Some(known) = known {
                texts.push(Arc::clone(&known.text));
                continue;
            }
            if cache.len() >= MAX_CACHED {
                cache.clear();
            }
            let text = Arc::<str>::from(codec.tool(tool).to_string());
            texts.push(Arc::clone(&text));
            cache.insert(tool.fingerprint().to_owned(), Written { text, demand });
            hints.extend(union_of(tool).map(|keyword| {
                let name = tool.name();
                format!(
                    "many model servers reject the tool `{name}`: its schema has `{keyword}` at the root; put the alternatives into a field of an object"
                )
            }));
        }
        drop(cache);
        for (name, why) in &rejected {
            let message = format!("the tool `{name}` is not shown to the model: {why}");
            warn_once(ctx, message);
        }
        for hint in hints {
            ctx.log(Level::Warn, hint);
        }
        texts.extend(theirs.iter().map(|tool| tool.to_string().into()));
        let withheld = rejected.into_iter().map(|(name, _)| name.to_owned());
        RequestTools {
            texts,
            withheld: withheld.collect(),
        }
    }
}

/// Returns the tools that a server is likely to reject.
pub(super) fn unions(tools: &[Tool]) -> impl Iterator<Item = &str> {
    let has = |tool: &&Tool| union_of(tool).is_some();
    tools.iter().filter(has).map(Tool::name)
}

/// Returns the keyword at the root of a tool's schema that many servers reject.
fn union_of(tool: &Tool) -> Option<&'static str> {
    let document = tool.schema().document();
    let found = REJECTED_AT_ROOT
        .iter()
        .find(|keyword| document.get(**keyword).is_some());
    found.copied()
}
