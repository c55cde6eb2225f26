//! Hides tools behind a search when there are too many of them.

mod index;
mod words;

use std::collections::HashSet;
use std::sync::Arc;

use ahash::RandomState;
use async_trait::async_trait;
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::artifact::Inline;
use crate::effects::{Concurrency, Effects};
use crate::error::{BoxError, Error};
use crate::middleware::ToolTokens;
use crate::pipeline::{Middleware, Next};
use crate::schema::escape;
use crate::tool::approval::ToolPattern;
use crate::tool::context::{DispatchContext, ToolContext, TurnContext};
use crate::tool::registry::ToolRegistry;
use crate::tool::{Tool, ToolOutput};
use index::Index;

/// The name of the tool that the model searches with.
const NAME: &str = "find_tools";
/// How many tools an answer has.
const RESULTS: usize = 5;

/// The most characters of a line about a tool.
const LINE: usize = 160;
const FOUND: &str = "These tools are available now:";

/// Middleware that hides tools behind a search. See [`find_tools`].
///
/// ```
/// use turnwright_core::middleware::find_tools;
///
/// let find = find_tools(4_000).pin("calculate").pin("files__*").results(8);
/// ```
#[derive(Clone)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct FindTools {
    budget: u64,
    results: usize,
    pinned: Vec<ToolPattern>,
    tokens_of: String,
    shared: Arc<Shared>,
}

/// What turns share: counting and indexing definitions takes time, and they rarely change.
#[derive(Default)]
struct Shared {
    tokens: Mutex<ToolTokens>,
    index: Mutex<Option<Arc<Index>>>,
}

/// What is hidden in one turn.
#[derive(Default)]
struct Hidden(Mutex<State>);

#[derive(Default)]
struct State {
    /// Whether the budget was exceeded. From then on, tools that are added are hidden too.
    active: bool,
    /// The tools that can be found, by name, including those that were found.
    findable: IndexMap<Arc<str>, Tool, RandomState>,
    /// The names of tools that the model has seen. They stay visible, also if they are removed and added again.
    shown: HashSet<Arc<str>, RandomState>,
}

impl Hidden {
    /// Shows a tool for the rest of the turn.
    fn show(&self, name: &str, registry: &ToolRegistry) {
        self.0.lock().shown.insert(name.into());
        registry.reveal(name);
    }
}

/// Hides the tools of a turn if their definitions have more than `budget` tokens, and adds the tool `find_tools`, with which the model
/// searches for them in its own words. The tools that it finds become visible for the rest of the turn.
///
/// Each definition in a prompt costs tokens, and a model chooses worse from hundreds of tools than from ten. The list of visible
/// tools only grows: tools that were found are appended, so each search breaks the provider's prompt cache at most once. A
/// resumed turn shows again what it had found. Hidden tools can still be called, by a model that knows them from earlier turns.
///
/// [`pin`](FindTools::pin) tools that are always needed. Add the middleware to the dispatch input, where it runs before each iteration.
/// The order does not matter: it applies after the other layers. So it also hides tools that are added during the turn, and those
/// that are removed and added again, such as the tools of a server that is restarted. What the model has seen stays visible.
///
/// The search is lexical (BM25, over names, descriptions and parameters). The answer has a name and one line for each tool. If a
/// tool has a [source](crate::tool::ToolBuilder::source), its line is a third party's text: the answer is untrusted then.
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_core::middleware::find_tools;
/// use turnwright_core::{DispatchContext, Tool, ToolContext};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # let tool = |name: &str, description: &str| Tool::dynamic(name, json!({ "type": "object" })).description(description)
/// #     .handler(|_: Value, _: ToolContext| async { "ok" }).build();
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     let names = |ctx: &DispatchContext| -> Vec<String> {
///         ctx.tools().visible().iter().map(|tool| tool.name().to_owned()).collect()
///     };
///     assert_eq!(names(&ctx), ["calculate", "find_tools"]);
///     ctx.call("find_tools", json!({ "query": "which mails did I get?" })).await;
///     ctx.answer(names(&ctx).join(", ")).await?;
///     Ok(())
/// })
/// .tools([
///     tool("read_mail", "Reads the newest mail."),
///     tool("weather", "Returns the weather forecast."),
///     tool("calculate", "Evaluates a formula."),
/// ])
/// .dispatch_input(find_tools(20).pin("calculate"))
/// .build()?;
/// let answer = runner.run("What is new?").await.into_answer()?;
/// assert_eq!(answer, "calculate, find_tools, read_mail");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn find_tools(budget: u64) -> FindTools {
    FindTools {
        budget,
        results: RESULTS,
        pinned: Vec::new(),
        tokens_of: String::new(),
        shared: Arc::default(),
    }
}

impl FindTools {
    /// Keeps tools visible, whatever the budget. The pattern names tools or a [source](crate::tool::ToolBuilder::source); `*` matches
    /// any characters. Can be called more than once.
    pub fn pin(mut self, tools: impl Into<String>) -> Self {
        self.pinned.push(ToolPattern::new(tools));
        self
    }

    /// Sets how many tools a search returns at most.
    ///
    /// Default: 5.
    pub fn results(mut self, most: usize) -> Self {
        self.results = most.max(1);
        self
    }

    /// Sets the model whose tokens are counted. With the feature `tokens`, models of OpenAI are counted exactly.
    ///
    /// Default: none; tokens are estimated.
    pub fn tokens_of(mut self, model: impl Into<String>) -> Self {
        self.tokens_of = model.into();
        self
    }

    async fn apply(&self, turn: &TurnContext) -> Result<(), Error> {
        let hidden = turn.per_turn::<Hidden>();
        let visible = turn.tools().visible();
        let is_first = {
            let mut state = hidden.0.lock();
            let starts = !state.active;
            let tokens = || self.shared.tokens.lock().of(&visible, &self.tokens_of);
            if starts && tokens() <= self.budget {
                let names = visible.iter().map(|tool| Arc::clone(tool.shared_name()));
                state.shown.extend(names);
                return Ok(());
            }
            state.active = true;
            state.findable.retain(|name, _| turn.tools().has(name));
            for tool in visible.into_iter().filter(|tool| !self.stays(tool)) {
                let name = Arc::clone(tool.shared_name());
                let was_shown = state.shown.contains(&name);
                let known = state.findable.insert(name, tool.clone());
                // The same tool was hidden before: the application shows it.
                if !was_shown && !known.is_some_and(|known| known.is_same(&tool)) {
                    turn.tools().hide(tool.name());
                }
            }
            starts
        };
        if is_first {
            let advice = "rename it: the middleware `find_tools` adds a tool with this name";
            turn.tools().register_or(search_tool(self)?, advice)?;
            show_again(turn, &hidden).await;
        }
        Ok(())
    }

    /// Returns whether a tool stays visible.
    fn stays(&self, tool: &Tool) -> bool {
        tool.is_artifact_tool()
            || tool.name() == NAME
            || self.pinned.iter().any(|pattern| pattern.matches(tool))
    }
}

impl Shared {
    /// Returns the index of the tools that can be found in a turn, with their current definitions.
    fn index(&self, hidden: &Hidden, registry: &ToolRegistry) -> Arc<Index> {
        let findable: Vec<Arc<str>> = hidden.0.lock().findable.keys().cloned().collect();
        let current = findable.iter().map(|name| registry.get(name));
        let findable: Vec<Tool> = current.flatten().collect();
        let mut index = self.index.lock();
        match &*index {
            Some(index) if index.is_of(&findable) => Arc::clone(index),
            _ => Arc::clone(index.insert(Arc::new(Index::new(findable)))),
        }
    }
}

/// Shows what the turn had found before it was resumed, in the same order.
async fn show_again(turn: &TurnContext, hidden: &Hidden) {
    for call in turn.records().own_tool_calls() {
        if call.tool() == NAME && !call.is_error() {
            let text = call.text().await.unwrap_or_default();
            names_in(&text).for_each(|name| hidden.show(name, turn.tools()));
        }
    }
}

#[async_trait]
impl Middleware<DispatchContext> for FindTools {
    async fn handle(
        &self,
        ctx: DispatchContext,
        next: Next<DispatchContext>,
    ) -> Result<(), BoxError> {
        // After the inner layers, which may add tools too.
        next.run().await?;
        Ok(self.apply(ctx.turn()).await?)
    }

    fn name(&self) -> &'static str {
        NAME
    }
}

fn search_tool(settings: &FindTools) -> Result<Tool, Error> {
    let (shared, results) = (Arc::clone(&settings.shared), settings.results);
    let schema = json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string", "minLength": 1, "maxLength": 1000,
                "description": "What you want to do, in a few words.",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    Tool::dynamic(NAME, schema)
        .description(
            "Finds more tools by what they do. Most tools are not listed until you search for them. Search before you say \
             that something is not possible. The tools that it finds can be called from the next step on.",
        )
        .effects(Effects::ReadOnly)
        // Calls one after the other reveal tools in a defined order.
        .concurrency(Concurrency::Exclusive)
        .trusted(true)
        .inline(Inline::Always)
        .handler(move |args: Value, ctx: ToolContext| {
            let query = args.get("query").and_then(Value::as_str);
            let hidden = ctx.turn().per_turn::<Hidden>();
            let index = shared.index(&hidden, ctx.turn().tools());
            let found = index.search(query.unwrap_or_default(), results);
            std::future::ready(answer(&ctx, &hidden, &found))
        })
        .build()
}

/// Reveals the tools and lists them.
fn answer(ctx: &ToolContext, hidden: &Hidden, found: &[&Tool]) -> ToolOutput {
    let mut lines = Vec::new();
    let mut third_party = false;
    for tool in found {
        hidden.show(tool.name(), ctx.turn().tools());
        third_party |= tool.source().is_some();
        lines.push(line(tool));
    }
    if lines.is_empty() {
        return ToolOutput::text("No tool matches. Try other words.");
    }
    let output = ToolOutput::text(format!("{FOUND}\n{}", lines.join("\n")));
    if third_party {
        output.untrusted()
    } else {
        output
    }
}

/// The name and the beginning of the description, on one line. The name is a word of plain characters, so that no description can
/// look like another line.
fn line(tool: &Tool) -> String {
    let description: Vec<&str> = tool.description().split_whitespace().collect();
    let description = escape(&description.join(" "), LINE);
    format!("- {}: {description}", tool.name())
}

/// Returns the names of the tools that an answer lists.
fn names_in(answer: &str) -> impl Iterator<Item = &str> {
    let lines = answer.strip_prefix(FOUND).unwrap_or_default().lines();
    lines.filter_map(|line| Some(line.strip_prefix("- ")?.split_once(": ")?.0))
}

debug_fields!(FindTools { budget, pinned });
