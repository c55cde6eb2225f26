//! Estimates the tokens of a prompt.

use std::collections::HashMap;
use std::sync::Arc;

use crate::artifact::text::TokenCount;
use crate::middleware::ToolTokens;
use crate::record::{ProviderState, Record, RecordKind};
use crate::render::{Part, Renderer};
use crate::schema::{Raw, RawArgs};
use crate::tool::context::DispatchContext;
use crate::trust::NOTICE;

/// The tokens of a message besides its text.
const PER_MESSAGE: u64 = 4;
/// The tokens of an image or another media, besides its description.
const PER_MEDIA: u64 = 1_000;

/// The tokens of records and tools in a turn. Each record is rendered and counted once.
#[derive(Default)]
pub(super) struct Sizes {
    records: HashMap<(RecordKind, Box<str>), (Record, u64)>,
    tools: ToolTokens,
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
        tokens += self.tools.of(&ctx.tools().visible(), model);
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
            let args = count(&args_text(call.args()));
            PER_MESSAGE + count(call.tool()) + args + of_state(call.provider_state()) + result
        }
        _ => return 0,
    };
    tokens.saturating_add(media).saturating_add(PER_MESSAGE)
}

/// Returns arguments as text.
pub(super) fn args_text(args: &RawArgs) -> Arc<str> {
    match args.raw() {
        Raw::Text(text) => Arc::clone(text),
        Raw::Value(_) => args.to_value().to_string().into(),
    }
}

/// Returns the tokens of what a provider gets back with a record.
fn of_state(state: Option<&ProviderState>) -> u64 {
    let bytes = state.and_then(|state| state.for_server(state.protocol(), state.address()));
    bytes.map_or(0, |bytes| bytes.len() as u64 / 4)
}
