//! The prompt in wire order.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use turnwright_core::record::Author;
use turnwright_core::render::Renderer;
use turnwright_core::transcript::{Entry, SystemPrompt, Transcript, Writer};
use turnwright_core::{DispatchContext, Error};

use super::ScriptedModel;
use super::request::text_of;

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptPart {
    /// The role of the author.
    pub role: PromptRole,
    /// The text. Tool results and retrievables are in their envelopes.
    pub text: String,
}

/// The role in a message of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PromptRole {
    /// Instructions, standing instructions and memories, as of the first iteration of the turn.
    System,
    /// A user, or another agent.
    User,
    /// The framework, or an instruction or memory that was added or changed during the turn.
    Note,
    /// A retrieved record.
    Retrieved,
    /// The model. The text is empty if it only called tools.
    Assistant,
    /// A tool result.
    Tool,
}

impl PromptPart {
    fn new(role: PromptRole, text: impl Into<String>) -> Self {
        let text = text.into();
        PromptPart { role, text }
    }
}

impl fmt::Display for PromptPart {
    /// Writes the role in lower case and the text, as in `user: Hello`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            PromptRole::System => "system",
            PromptRole::User => "user",
            PromptRole::Note => "note",
            PromptRole::Retrieved => "retrieved",
            PromptRole::Assistant => "assistant",
            PromptRole::Tool => "tool",
        };
        write!(f, "{role}: {}", self.text)
    }
}

/// The transcripts of a turn, one per model that takes part in it.
#[derive(Default)]
pub(super) struct Transcripts(Mutex<Vec<(ScriptedModel, Transcript<PromptPart>)>>);

impl Transcripts {
    pub(super) fn take(&self, model: &ScriptedModel) -> Transcript<PromptPart> {
        let mut all = self.0.lock();
        let place = all
            .iter()
            .position(|(owner, _)| Arc::ptr_eq(&owner.0, &model.0));
        place.map(|at| all.swap_remove(at).1).unwrap_or_default()
    }

    pub(super) fn put(&self, model: &ScriptedModel, transcript: Transcript<PromptPart>) {
        self.0.lock().push((model.clone(), transcript));
    }
}

/// Adds new entries to the transcript.
pub(super) async fn update(
    transcript: &mut Transcript<PromptPart>,
    ctx: &DispatchContext,
    renderer: &Renderer,
) -> Result<(), Error> {
    let instructions = ctx.instructions().unwrap_or_default();
    let system = || SystemPrompt::new(instructions).explain_envelopes(false);
    let mut writer = PlainWriter(renderer);
    transcript
        .update(&ctx.records().timeline(), system, &mut writer)
        .await
}

struct PlainWriter<'r>(&'r Renderer);

impl Writer for PlainWriter<'_> {
    type Wire = PromptPart;

    fn system_prompt(&mut self, system: &SystemPrompt) -> Result<Vec<PromptPart>, Error> {
        let text = system.text();
        let part = (!text.is_empty()).then(|| PromptPart::new(PromptRole::System, text));
        Ok(part.into_iter().collect())
    }

    async fn entry(&mut self, entry: &Entry) -> Result<Vec<PromptPart>, Error> {
        Ok(match entry {
            Entry::Message(message) => {
                let role = match message.author() {
                    Author::Framework => PromptRole::Note,
                    _ => PromptRole::User,
                };
                vec![PromptPart::new(role, message.text())]
            }
            Entry::Retrievable(found) => {
                let text = text_of(&self.0.retrievable(found).await);
                vec![PromptPart::new(PromptRole::Retrieved, text)]
            }
            Entry::Instruction(record) => vec![PromptPart::new(PromptRole::Note, record.text())],
            Entry::Memory(record) => vec![PromptPart::new(PromptRole::Note, record.text())],
            Entry::Response(response) => {
                let messages = response.messages.iter();
                let words: Vec<&str> = messages.map(|message| message.text()).collect();
                if words.is_empty() && response.calls.is_empty() {
                    return Ok(Vec::new());
                }
                let mut parts = vec![PromptPart::new(PromptRole::Assistant, words.join("\n\n"))];
                for call in &response.calls {
                    let text = text_of(&self.0.tool_call(call).await);
                    parts.push(PromptPart::new(PromptRole::Tool, text));
                }
                parts
            }
            _ => Vec::new(),
        })
    }

    fn reuse(&mut self, _: &[PromptPart]) {}
}
