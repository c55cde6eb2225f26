//! Estimates the tokens of a prompt.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::artifact::text::TokenCount;
use crate::record::{ProviderState, Record, RecordKind, ToolCall};
use crate::render::{Part, Renderer};
use crate::schema::{Raw, RawArgs};
use crate::tool::Tool;
use crate::tool::context::DispatchContext;
use crate::trust::NOTICE;

/// The tokens of a message besides its text.
const PER_MESSAGE: u64 = 4;
/// The tokens of an image or another media, besides its description.
const PER_MEDIA: u64 = 1_000;

/// The estimates of a turn. Each record is rendered and counted once.
#[derive(Default)]
pub(super) struct Estimates(Mutex<Sizes>);

impl Estimates {
    /// Takes the sizes out, so that no lock is held while records are rendered.
    pub(super) fn take(&self) -> Sizes {
        std::mem::take(&mut *self.0.lock())
    }

    pub(super) fn put(&self, sizes: Sizes) {
        *self.0.lock() = sizes;
    }
}

/// The tokens of records and tools.
#[derive(Default)]
pub(super) struct Sizes {
    records: HashMap<(RecordKind, Box<str>), (Record, u64)>,
    tools: HashMap<Box<str>, (Tool, u64)>,
    notice: Option<u64>,
    /// Whether the operator was warned that nothing is left to compact.
    pub(super) warned: bool,
    /// How many records were rendered.
    #[cfg(test)]
    pub(super) rendered: u64,
}

impl Sizes {
    /// Returns what the prompt has besides its records: the system prompt and the tools.
    pub(super) fn fixed(&mut self, ctx: &DispatchContext, model: &str) -> u64 {
        let count = |text: &str| TokenCount::of_text(text, model).tokens;
        let mut tokens = PER_MESSAGE + ctx.instructions().map_or(0, count);
        tokens += *self.notice.get_or_insert_with(|| count(NOTICE));
        if let Some(format) = ctx.turn().answer_format() {
            tokens += count(&format.schema().document().to_string());
        }
        for tool in ctx.tools().visible() {
            let known = self.tools.get(tool.name());
            let known = known.filter(|(known, _)| known.is_same(&tool));
            tokens += match known {
                Some((_, tokens)) => *tokens,
                None => {
                    // A description is always valid JSON.
                    let text = serde_json::to_string(&tool.describe()).unwrap_or_default();
                    let tokens = count(&text);
                    self.tools.insert(tool.name().into(), (tool, tokens));
                    tokens
                }
            };
        }
        tokens
    }

    /// Returns the tokens of a record as a model reads it.
    pub(super) async fn of_record(
        &mut self,
        record: &Record,
        renderer: &Renderer,
        model: &str,
    ) -> u64 {
        let key = (record.kind(), record.id().into());
        if let Some((known, tokens)) = self.records.get(&key)
            && known.is_same(record)
        {
            return *tokens;
        }
        let tokens = tokens_of(record, renderer, model).await;
        #[cfg(test)]
        {
            self.rendered += 1;
        }
        self.records.insert(key, (record.clone(), tokens));
        tokens
    }

    /// Forgets records that are no longer shown.
    pub(super) fn retain(&mut self, timeline: &[Record]) {
        if self.records.len() > timeline.len().saturating_mul(2) {
            let mut records = HashMap::with_capacity(timeline.len());
            for record in timeline {
                let key = (record.kind(), record.id().into());
                if let Some(size) = self.records.remove(&key) {
                    records.insert(key, size);
                }
            }
            self.records = records;
        }
    }
}

/// Returns the tokens of a record as a model reads it.
pub(super) async fn tokens_of(record: &Record, renderer: &Renderer, model: &str) -> u64 {
    let count = |text: &str| TokenCount::of_text(text, model).tokens;
    let parts = |parts: Vec<Part>| -> u64 {
        let texts = parts.iter().map(|part| match part {
            Part::Text(text) => count(text),
            Part::Media(_) => 0,
        });
        texts.sum()
    };
    let media = PER_MEDIA.saturating_mul(record.media().len() as u64);
    let tokens = match record {
        Record::Instruction(instruction) => count(instruction.text()),
        Record::Memory(memory) => count(memory.text()),
        Record::Retrievable(found) => parts(renderer.retrievable(found).await),
        Record::Message(message) => {
            parts(renderer.message(message)) + of_state(message.provider_state())
        }
        Record::Thought(thought) => count(thought.text()) + of_state(thought.provider_state()),
        Record::ToolCall(call) => {
            let result = parts(renderer.tool_call(call).await);
            // The call and its result are two messages.
            let call = count(call.tool()) + of_args(call, model) + of_state(call.provider_state());
            PER_MESSAGE + call + result
        }
        _ => return 0,
    };
    tokens.saturating_add(media).saturating_add(PER_MESSAGE)
}

fn of_args(call: &Arc<ToolCall>, model: &str) -> u64 {
    TokenCount::of_text(&args_text(call.args()), model).tokens
}

/// Returns arguments as text.
pub(super) fn args_text(args: &RawArgs) -> Arc<str> {
    match args.raw() {
        Raw::Text(text) => Arc::clone(text),
        _ => args.to_value().to_string().into(),
    }
}

/// Returns the tokens of what a provider gets back with a record.
fn of_state(state: Option<&ProviderState>) -> u64 {
    let bytes = state.and_then(|state| state.for_server(state.protocol(), state.address()));
    bytes.map_or(0, |bytes| bytes.len() as u64 / 4)
}
