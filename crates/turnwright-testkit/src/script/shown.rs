//! What a model was shown.

use std::ops::Deref;
use std::sync::Arc;
use turnwright_core::Message;
use turnwright_core::record::{Memory, StandingInstruction, Thought};

use serde_json::Value;
use turnwright_core::record::{Author, Retrievable, ToolCall};
use turnwright_core::render::{Part, Renderer};
use turnwright_core::transcript::Transcript;
use turnwright_core::{BoxError, DispatchContext, ModelSettings};

use super::prompt::{self, ShownPart};

/// All that a model was shown in one iteration: a copy, which nothing changes any more.
#[derive(Clone, Debug)]
pub struct Shown {
    turn_id: String,
    iteration: u32,
    tools: Vec<ShownTool>,
    instructions: Option<String>,
    settings: ModelSettings,
    standing_instructions: Vec<String>,
    memories: Vec<String>,
    retrievables: Vec<ShownRetrievable>,
    messages: Vec<ShownMessage>,
    thoughts: Vec<String>,
    tool_calls: Vec<ShownCall>,
    prompt: Vec<ShownPart>,
    answer_schema: Option<Value>,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ShownTool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub document: Value,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownMessage {
    /// By whom.
    pub author: Author,
    /// In these words.
    pub text: String,
}

/// A record as it stood in the turn then, and what a model reads of it.
#[derive(Clone, Debug)]
pub struct Rendered<R> {
    record: Arc<R>,
    rendered: String,
}

/// A call that a model was shown.
pub type ShownCall = Rendered<ToolCall>;

/// Something retrieved that a model was shown.
pub type ShownRetrievable = Rendered<Retrievable>;

impl<R> Rendered<R> {
    /// What a model reads of it, in its envelope.
    #[must_use]
    pub fn rendered(&self) -> &str {
        &self.rendered
    }

    /// The record.
    #[must_use]
    pub fn record(&self) -> &Arc<R> {
        &self.record
    }
}

impl<R> Deref for Rendered<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.record
    }
}

impl Shown {
    /// What the context shows now. The transcript is what this model was shown earlier in the turn.
    pub(super) async fn of(
        ctx: &DispatchContext,
        transcript: &mut Transcript<ShownPart>,
    ) -> Result<Self, BoxError> {
        let renderer = Renderer::new(ctx.turn().secret()?);
        prompt::update(transcript, ctx, &renderer).await?;
        let mut tool_calls = Vec::new();
        for record in ctx.records().all::<ToolCall>() {
            let rendered = text_of(&renderer.tool_call(&record).await);
            tool_calls.push(Rendered { record, rendered });
        }
        let mut retrievables = Vec::new();
        for record in ctx.records().all::<Retrievable>() {
            let rendered = text_of(&renderer.retrievable(&record).await);
            retrievables.push(Rendered { record, rendered });
        }
        let messages = ctx
            .records()
            .all::<Message>()
            .into_iter()
            .map(|message| ShownMessage {
                author: message.author().clone(),
                text: message.text().to_owned(),
            });
        let visible = ctx.tools().visible();
        let tools = visible.iter().map(|tool| ShownTool {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            document: tool.schema().document().clone(),
        });
        Ok(Shown {
            turn_id: ctx.turn_id().to_owned(),
            iteration: ctx.iteration(),
            tools: tools.collect(),
            instructions: ctx.instructions().map(str::to_owned),
            settings: ctx.settings(),
            standing_instructions: ctx
                .records()
                .all::<StandingInstruction>()
                .iter()
                .map(|record| record.text().to_owned())
                .collect(),
            memories: ctx
                .records()
                .all::<Memory>()
                .iter()
                .map(|record| record.text().to_owned())
                .collect(),
            retrievables,
            messages: messages.collect(),
            thoughts: ctx
                .records()
                .all::<Thought>()
                .iter()
                .map(|record| record.text().to_owned())
                .collect(),
            tool_calls,
            prompt: transcript.messages().cloned().collect(),
            answer_schema: ctx
                .turn()
                .answer_format()
                .map(|format| format.schema().document().clone()),
        })
    }

    /// The turn.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        &self.turn_id
    }

    /// Which iteration of its dispatch it was, counted from 1.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// The tools, in order. Hidden ones are not among them.
    #[must_use]
    pub fn tools(&self) -> &[ShownTool] {
        &self.tools
    }

    /// The names of the tools, in order.
    #[must_use]
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// The tool of that name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ShownTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The system prompt: the instructions of the runner and of the turn.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The model settings.
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// The standing instructions.
    #[must_use]
    pub fn standing_instructions(&self) -> &[String] {
        &self.standing_instructions
    }

    /// The memories.
    #[must_use]
    pub fn memories(&self) -> &[String] {
        &self.memories
    }

    /// What was retrieved.
    #[must_use]
    pub fn retrievables(&self) -> &[ShownRetrievable] {
        &self.retrievables
    }

    /// What was said, by whomever.
    #[must_use]
    pub fn messages(&self) -> &[ShownMessage] {
        &self.messages
    }

    /// The words of the messages.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        let messages = self.messages.iter();
        messages.map(|message| message.text.as_str()).collect()
    }

    /// What the model thought before.
    #[must_use]
    pub fn thoughts(&self) -> &[String] {
        &self.thoughts
    }

    /// The calls, complete and open ones.
    #[must_use]
    pub fn tool_calls(&self) -> &[ShownCall] {
        &self.tool_calls
    }

    /// The prompt in the order in which a model server receives it: instructions, standing instructions and memories as they were at the
    /// first iteration, then what happened. What arrives or changes during the turn stands where it arrived.
    ///
    /// The order is that of [`Transcript`], which `ChatCompletions` uses too.
    #[must_use]
    pub fn prompt(&self) -> &[ShownPart] {
        &self.prompt
    }

    /// The JSON Schema of the answer that is wanted, if one is.
    #[must_use]
    pub fn answer_schema(&self) -> Option<&Value> {
        self.answer_schema.as_ref()
    }
}

pub(super) fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
