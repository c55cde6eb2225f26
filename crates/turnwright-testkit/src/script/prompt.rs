//! The prompt in wire order.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use turnwright_core::record::Author;
use turnwright_core::render::Renderer;
use turnwright_core::transcript::{Entry, Standing, Transcript, Writer};
use turnwright_core::{DispatchContext, Error};

use super::ScriptedModel;
use super::shown::text_of;

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownPart {
    /// The role of the author.
    pub role: ShownRole,
    /// The text. Tool results and retrievables are in their envelopes.
    pub text: String,
}

/// The role in a message of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShownRole {
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

impl ShownPart {
    fn new(role: ShownRole, text: impl Into<String>) -> Self {
        let text = text.into();
        ShownPart { role, text }
    }
}

impl fmt::Display for ShownPart {
    /// Writes the role in lower case and the text, as in `user: Hello`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            ShownRole::System => "system",
            ShownRole::User => "user",
            ShownRole::Note => "note",
            ShownRole::Retrieved => "retrieved",
            ShownRole::Assistant => "assistant",
            ShownRole::Tool => "tool",
        };
        write!(f, "{role}: {}", self.text)
    }
}

/// The transcripts of a turn, one per model that takes part in it.
#[derive(Default)]
pub(super) struct Transcripts(Mutex<Vec<(ScriptedModel, Transcript<ShownPart>)>>);

impl Transcripts {
    pub(super) fn take(&self, model: &ScriptedModel) -> Transcript<ShownPart> {
        let mut all = self.0.lock();
        let place = all
            .iter()
            .position(|(owner, _)| Arc::ptr_eq(&owner.0, &model.0));
        place.map(|at| all.swap_remove(at).1).unwrap_or_default()
    }

    pub(super) fn put(&self, model: &ScriptedModel, transcript: Transcript<ShownPart>) {
        self.0.lock().push((model.clone(), transcript));
    }
}

/// Adds new entries to the transcript.
pub(super) async fn update(
    transcript: &mut Transcript<ShownPart>,
    ctx: &DispatchContext,
    renderer: &Renderer,
) -> Result<(), Error> {
    let instructions = ctx.instructions().unwrap_or_default();
    let system = || Standing::new(instructions).explain_fences(false);
    let mut writer = PlainWriter(renderer);
    transcript
        .update(&ctx.records().timeline(), system, &mut writer)
        .await
}

struct PlainWriter<'r>(&'r Renderer);

impl Writer for PlainWriter<'_> {
    type Wire = ShownPart;

    fn standing(&mut self, standing: &Standing) -> Result<Vec<ShownPart>, Error> {
        let text = standing.text();
        let part = (!text.is_empty()).then(|| ShownPart::new(ShownRole::System, text));
        Ok(part.into_iter().collect())
    }

    async fn entry(&mut self, entry: &Entry) -> Result<Vec<ShownPart>, Error> {
        Ok(match entry {
            Entry::Message(message) => {
                let role = match message.author() {
                    Author::Framework => ShownRole::Note,
                    _ => ShownRole::User,
                };
                vec![ShownPart::new(role, message.text())]
            }
            Entry::Retrievable(found) => {
                let text = text_of(&self.0.retrievable(found).await);
                vec![ShownPart::new(ShownRole::Retrieved, text)]
            }
            Entry::Instruction(record) => vec![ShownPart::new(ShownRole::Note, record.text())],
            Entry::Memory(record) => vec![ShownPart::new(ShownRole::Note, record.text())],
            Entry::Response(response) => {
                let messages = response.messages.iter();
                let words: Vec<&str> = messages.map(|message| message.text()).collect();
                if words.is_empty() && response.calls.is_empty() {
                    return Ok(Vec::new());
                }
                let mut parts = vec![ShownPart::new(ShownRole::Assistant, words.join("\n\n"))];
                for call in &response.calls {
                    let text = text_of(&self.0.tool_call(call).await);
                    parts.push(ShownPart::new(ShownRole::Tool, text));
                }
                parts
            }
            _ => Vec::new(),
        })
    }

    fn again(&mut self, _: &[ShownPart]) {}
}
