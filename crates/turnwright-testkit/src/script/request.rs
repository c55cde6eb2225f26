//! A request to a scripted model.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;
use turnwright_core::Message;
use turnwright_core::record::{
    Author, Memory, Retrievable, StandingInstruction, Thought, ToolCall,
};
use turnwright_core::render::{Part, Renderer};
use turnwright_core::transcript::Transcript;
use turnwright_core::{BoxError, DispatchContext, ModelSettings};

use super::prompt::{self, PromptPart};

/// A request to a model: everything that it is shown in one iteration. An immutable copy.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    turn_id: String,
    iteration: u32,
    tools: Vec<RequestTool>,
    instructions: Option<String>,
    settings: ModelSettings,
    standing_instructions: Vec<String>,
    memories: Vec<String>,
    retrievables: Vec<RenderedRetrievable>,
    messages: Vec<RequestMessage>,
    thoughts: Vec<String>,
    tool_calls: Vec<RenderedCall>,
    prompt: Vec<PromptPart>,
    answer_schema: Option<Value>,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RequestTool {
    /// The name of the tool.
    pub name: String,
    /// The description of the tool.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub document: Value,
}

/// A message in a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestMessage {
    /// The author.
    pub author: Author,
    /// The text.
    pub text: String,
}

/// A record as of this iteration, and its rendered text.
#[derive(Clone, Debug)]
pub struct Rendered<R> {
    record: Arc<R>,
    rendered: String,
}

/// A tool call in a prompt.
pub type RenderedCall = Rendered<ToolCall>;

/// A retrieved record in a prompt.
pub type RenderedRetrievable = Rendered<Retrievable>;

impl<R> Rendered<R> {
    /// Returns the text that the model sees, in its envelope.
    #[must_use]
    pub fn rendered(&self) -> &str {
        &self.rendered
    }

    /// Returns the record.
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

impl ModelRequest {
    /// Takes a snapshot of the context. The transcript contains what this model was shown earlier in the turn.
    pub(super) async fn of(
        ctx: &DispatchContext,
        transcript: &mut Transcript<PromptPart>,
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
            .map(|message| RequestMessage {
                author: message.author().clone(),
                text: message.text().to_owned(),
            });
        let visible = ctx.tools().visible();
        let tools = visible.iter().map(|tool| RequestTool {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            document: tool.schema().document().clone(),
        });
        Ok(ModelRequest {
            turn_id: ctx.turn().turn_id().to_owned(),
            iteration: ctx.iteration(),
            tools: tools.collect(),
            instructions: ctx.instructions().map(str::to_owned),
            settings: ctx.settings(),
            standing_instructions: texts(
                &ctx.records().all::<StandingInstruction>(),
                StandingInstruction::text,
            ),
            memories: texts(&ctx.records().all::<Memory>(), Memory::text),
            retrievables,
            messages: messages.collect(),
            thoughts: texts(&ctx.records().all::<Thought>(), Thought::text),
            tool_calls,
            prompt: transcript.messages().cloned().collect(),
            answer_schema: ctx
                .turn()
                .answer_format()
                .map(|format| format.schema().document().clone()),
        })
    }

    /// Returns the id of the turn.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        &self.turn_id
    }

    /// Returns the iteration of the dispatch, counted from 1.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// Returns the tools, in order, without hidden ones.
    #[must_use]
    pub fn tools(&self) -> &[RequestTool] {
        &self.tools
    }

    /// Returns the names of the tools, in order.
    #[must_use]
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// Returns the tool with this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&RequestTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns the system prompt: the instructions of the runner and of the turn.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// Returns the model settings.
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Returns the standing instructions.
    #[must_use]
    pub fn standing_instructions(&self) -> &[String] {
        &self.standing_instructions
    }

    /// Returns the memories.
    #[must_use]
    pub fn memories(&self) -> &[String] {
        &self.memories
    }

    /// Returns the retrieved records.
    #[must_use]
    pub fn retrievables(&self) -> &[RenderedRetrievable] {
        &self.retrievables
    }

    /// Returns the messages of all authors.
    #[must_use]
    pub fn messages(&self) -> &[RequestMessage] {
        &self.messages
    }

    /// Returns the texts of the messages.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        let messages = self.messages.iter();
        messages.map(|message| message.text.as_str()).collect()
    }

    /// Returns the earlier reasoning of the model.
    #[must_use]
    pub fn thoughts(&self) -> &[String] {
        &self.thoughts
    }

    /// Returns the calls, both complete and open ones.
    #[must_use]
    pub fn tool_calls(&self) -> &[RenderedCall] {
        &self.tool_calls
    }

    /// Returns the prompt in the order in which a model server receives it: instructions, standing instructions and
    /// memories as of the first iteration, then everything that happened. Records that arrive or change during the
    /// turn are at the position where they arrived.
    ///
    /// The order is that of [`Transcript`], which `ChatCompletions` uses too.
    #[must_use]
    pub fn prompt(&self) -> &[PromptPart] {
        &self.prompt
    }

    /// Returns the JSON Schema of the requested answer, if there is one.
    #[must_use]
    pub fn answer_schema(&self) -> Option<&Value> {
        self.answer_schema.as_ref()
    }
}

fn texts<R>(records: &[Arc<R>], text: impl Fn(&R) -> &str) -> Vec<String> {
    let texts = records.iter().map(|record| text(record).to_owned());
    texts.collect()
}

pub(super) fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
