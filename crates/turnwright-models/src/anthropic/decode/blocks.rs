//! The content of a message: text, thinking, calls, and blocks of tools that run at the provider.

use std::collections::HashMap;

use serde_json::{Map, Value};
use turnwright_core::Error;

use crate::decode::{Delta, Fields, at_most, provider_content};
use crate::engine::{Block, Layout, Part};

/// The maximum number of calls and of blocks in one response. Tiny blocks take many times their bytes in memory, and
/// every call would be executed.
const MAX_CALLS: usize = 1_000;
const MAX_BLOCKS: usize = 10_000;

/// Blocks that the model wrote itself. Any other block is what a tool of the provider returned.
const OWN_BLOCKS: [&str; 4] = [
    "redacted_thinking",
    "server_tool_use",
    "mcp_tool_use",
    "compaction",
];

/// The blocks of a message, in the order in which they started.
#[derive(Default)]
pub(super) struct Blocks {
    parts: Vec<Part>,
    /// Blocks that may get more, by the server's index.
    open: HashMap<u64, Open>,
    calls: usize,
    /// The last block of text and of thinking. Only they can get more without changing the order of the text.
    last_text: Option<usize>,
    last_thinking: Option<usize>,
    /// Whether text arrived out of order: then the layout does not describe it.
    is_disordered: bool,
    /// Whether a call did not end.
    has_cut_call: bool,
}

/// A block that may get more, and its position in the message.
enum Open {
    Text(usize),
    Thinking(usize),
    Call {
        slot: usize,
        /// The input at the start of the block, unless pieces of it followed.
        input: Option<Value>,
    },
    /// A block that is kept as it is, and the JSON of its input as far as it arrived.
    Raw {
        part: usize,
        json: String,
    },
}

impl Blocks {
    /// Adds a block of a message that is not streamed.
    pub(super) fn add(&mut self, block: Value, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        self.start(0, block, deltas)?;
        self.stop(0, deltas);
        Ok(())
    }

    /// Starts a block. One with the same index that did not end is truncated.
    pub(super) fn start(
        &mut self,
        index: u64,
        block: Value,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        self.has_cut_call |= matches!(self.open.get(&index), Some(Open::Call { .. }));
        self.stop(index, deltas);
        let Value::Object(fields) = block else {
            return Ok(());
        };
        let kind = fields
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let open = match kind {
            "text" => {
                let (block, text) = block_of(fields, "text");
                self.parts.push(Part::Text(block));
                deltas.extend(text.map(Delta::Text));
                let part = self.parts.len() - 1;
                self.last_text = Some(part);
                Open::Text(part)
            }
            "thinking" => {
                let (block, text) = block_of(fields, "thinking");
                self.parts.push(Part::Reasoning(block));
                deltas.extend(text.map(Delta::Reasoning));
                let part = self.parts.len() - 1;
                self.last_thinking = Some(part);
                Open::Thinking(part)
            }
            "tool_use" => self.call(fields, deltas),
            kind => {
                if !OWN_BLOCKS.contains(&kind) {
                    deltas.push(provider_content(kind));
                }
                self.parts.push(Part::Raw(Value::Object(fields)));
                Open::Raw {
                    part: self.parts.len() - 1,
                    json: String::new(),
                }
            }
        };
        self.open.insert(index, open);
        at_most(MAX_CALLS, self.calls, "calls")?;
        at_most(MAX_BLOCKS, self.parts.len(), "blocks")
    }

    /// Adds to a block. A block that never started begins here, if the delta shows what it is.
    pub(super) fn extend(
        &mut self,
        index: u64,
        mut delta: Fields,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let (text, thinking) = (delta.text("text")?, delta.text("thinking")?);
        let (signature, more) = (delta.text("signature")?, delta.text("partial_json")?);
        let citation = delta.value("citation");
        if !self.open.contains_key(&index) {
            let kind = match (&text, &thinking) {
                (Some(_), _) => "text",
                (None, Some(_)) => "thinking",
                (None, None) => return Ok(()),
            };
            let block = Map::from_iter([("type".to_owned(), kind.into())]);
            self.start(index, Value::Object(block), deltas)?;
        }
        let Some(open) = self.open.get_mut(&index) else {
            return Ok(());
        };
        match open {
            Open::Text(part) => {
                let (is_last, part) = (self.last_text == Some(*part), self.parts.get_mut(*part));
                if let (Some(text), Some(Part::Text(block))) = (text, part) {
                    self.is_disordered |= !is_last;
                    block.bytes += text.len();
                    deltas.push(Delta::Text(text));
                } else if let Some(citation) = citation {
                    self.cite(index, citation);
                }
            }
            Open::Thinking(part) => {
                let is_last = self.last_thinking == Some(*part);
                let Some(Part::Reasoning(block)) = self.parts.get_mut(*part) else {
                    return Ok(());
                };
                if let Some(signature) = signature {
                    append(&mut block.fields, "signature", &signature);
                }
                if let Some(text) = thinking {
                    self.is_disordered |= !is_last;
                    block.bytes += text.len();
                    deltas.push(Delta::Reasoning(text));
                }
            }
            Open::Call { slot, input } => {
                if let Some(arguments) = more {
                    *input = None;
                    deltas.push(Delta::Call {
                        slot: *slot,
                        id: None,
                        name: None,
                        arguments,
                        extra: None,
                    });
                }
            }
            Open::Raw { part, json } => {
                if let Some(text) = more {
                    json.push_str(&text);
                }
                if let Some(Part::Raw(Value::Object(fields))) = self.parts.get_mut(*part) {
                    for (name, value) in delta.0 {
                        match value {
                            _ if name == "type" => {}
                            Value::Null => {}
                            Value::String(text) => append(fields, &name, &text),
                            value => drop(fields.insert(name, value)),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends a block.
    pub(super) fn stop(&mut self, index: u64, deltas: &mut Vec<Delta>) {
        match self.open.remove(&index) {
            // A call without pieces of input has the input of its start, usually `{}`.
            Some(Open::Call {
                slot,
                input: Some(input),
            }) => deltas.push(Delta::Call {
                slot,
                id: None,
                name: None,
                arguments: input.to_string(),
                extra: None,
            }),
            Some(Open::Raw { part, json }) if !json.is_empty() => {
                let input = serde_json::from_str(&json);
                if let (Ok(input), Some(Part::Raw(Value::Object(fields)))) =
                    (input, self.parts.get_mut(part))
                {
                    fields.insert("input".to_owned(), input);
                }
            }
            _ => {}
        }
    }

    /// Returns whether a call did not end: only `content_block_stop` ends it, and its input may be truncated before that.
    pub(super) fn has_cut_call(&self) -> bool {
        self.has_cut_call
    }

    /// Ends all blocks, at the end of the message.
    pub(super) fn close(&mut self, deltas: &mut Vec<Delta>) {
        let mut open = self.open.values();
        self.has_cut_call |= open.any(|open| matches!(open, Open::Call { .. }));
        self.remove_incomplete();
        let mut open: Vec<u64> = self.open.keys().copied().collect();
        open.sort_unstable();
        for index in open {
            self.stop(index, deltas);
        }
    }

    /// Removes blocks of tools that run at the provider, if their end is missing.
    fn remove_incomplete(&mut self) {
        for (_, block) in self
            .open
            .extract_if(|_, open| matches!(open, Open::Raw { .. }))
        {
            if let Open::Raw { part, .. } = block
                && let Some(part) = self.parts.get_mut(part)
            {
                // Empty text is not part of the layout.
                *part = Part::Text(Block::default());
            }
        }
    }

    /// Returns the order of the blocks.
    pub(super) fn into_layout(mut self) -> Layout {
        self.remove_incomplete();
        let mut layout = Layout::default();
        if self.is_disordered {
            return layout;
        }
        for part in self.parts {
            match part {
                // The API rejects empty text.
                Part::Text(block) if block.bytes == 0 => {}
                part => layout.push(part),
            }
        }
        layout
    }

    fn call(&mut self, mut fields: Map<String, Value>, deltas: &mut Vec<Delta>) -> Open {
        let slot = self.calls;
        self.calls += 1;
        self.parts.push(Part::Call);
        let id = taken(&mut fields, "id");
        let name = taken(&mut fields, "name");
        let input = fields.remove("input");
        // The model itself is the default caller.
        if fields.get("caller").and_then(|caller| caller.get("type")) == Some(&"direct".into()) {
            fields.remove("caller");
        }
        let extra = attached(fields);
        deltas.push(Delta::Call {
            slot,
            id: Some(id).filter(|id| !id.is_empty()),
            name: Some(name),
            arguments: String::new(),
            extra: Some(extra).filter(|extra| !extra.is_empty()),
        });
        let input = input.filter(|input| !input.is_null());
        Open::Call {
            slot,
            input: input.or_else(|| Some(Map::new().into())),
        }
    }

    /// Adds a citation to a block of text.
    fn cite(&mut self, index: u64, citation: Value) {
        let Some(Open::Text(part)) = self.open.get(&index) else {
            return;
        };
        if let Some(Part::Text(block)) = self.parts.get_mut(*part) {
            let citations = block
                .fields
                .entry("citations")
                .or_insert_with(|| Vec::<Value>::new().into());
            if let Value::Array(citations) = citations {
                citations.push(citation);
            }
        }
    }
}

/// Takes a text out of a block.
fn taken(fields: &mut Map<String, Value>, name: &str) -> String {
    match fields.remove(name) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

/// Returns a block with what is attached to it, and its text.
fn block_of(mut fields: Map<String, Value>, name: &str) -> (Block, Option<String>) {
    let text = taken(&mut fields, name);
    let (bytes, fields) = (text.len(), attached(fields));
    (
        Block { bytes, fields },
        Some(text).filter(|text| !text.is_empty()),
    )
}

/// Returns what is attached to a block, without its type and without empty values.
fn attached(mut fields: Map<String, Value>) -> Map<String, Value> {
    fields.remove("type");
    fields.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    });
    fields
}

/// Appends to a text in a block.
fn append(fields: &mut Map<String, Value>, name: &str, more: &str) {
    match fields.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => drop(fields.insert(name.to_owned(), more.into())),
    }
}
