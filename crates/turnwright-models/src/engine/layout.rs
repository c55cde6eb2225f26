//! The order of the parts of a response, with what the provider attached to each.
//!
//! If a text was changed since, the layout does not fit, and the text is sent as one plain block. Signed reasoning is
//! sent back verbatim, even if it contains text that looks like an envelope: a provider rejects a changed text. It
//! returns only to the server that signed it.
//!
//! Records keep the text, the reasoning and the calls of a response. Some providers send several blocks of text, sign
//! parts, or put blocks of their own tools in between, and expect all of it back in the same order. A layout keeps that
//! order next to the records, as provider state.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::item::{Call, Piece};

/// The key of a layout in the state of a response.
pub(crate) const LAYOUT: &str = "layout";

/// The parts of a response, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Layout(Vec<Part>);

/// A part: how much of the response's text it has, or which call it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// Text.
    Text(Block),
    /// Reasoning.
    Reasoning(Block),
    /// The next call. Its own fields are stored with the call.
    Call,
    /// A part that the engine does not interpret, such as the result of a tool that ran at the provider.
    Raw(Value),
}

/// A block of text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Block {
    /// The length of its text.
    pub(crate) bytes: usize,
    /// What the provider attached to it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) fields: Map<String, Value>,
}

impl Layout {
    /// Adds a part.
    pub(crate) fn push(&mut self, part: Part) {
        self.0.push(part);
    }

    /// Returns the parts.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Returns the last part.
    pub(crate) fn last_mut(&mut self) -> Option<&mut Part> {
        self.0.last_mut()
    }

    /// Writes the layout into the state of a response, unless it is the usual one: reasoning, text, calls, without
    /// anything attached.
    pub(crate) fn store(self, state: &mut Map<String, Value>) {
        if self.is_usual() {
            return;
        }
        // Maps and numbers always serialise.
        if let Ok(value) = serde_json::to_value(self) {
            state.insert(LAYOUT.to_owned(), value);
        }
    }

    /// Reads the layout from the state of a response.
    pub(crate) fn of(state: &Map<String, Value>) -> Option<Layout> {
        Layout::deserialize(state.get(LAYOUT)?).ok()
    }

    fn is_usual(&self) -> bool {
        let rank = |part: &Part| match part {
            Part::Reasoning(block) if block.fields.is_empty() => Some(0),
            Part::Text(block) if block.fields.is_empty() => Some(1),
            Part::Call => Some(2),
            Part::Reasoning(_) | Part::Text(_) | Part::Raw(_) => None,
        };
        let ranks: Option<Vec<u8>> = self.0.iter().map(rank).collect();
        ranks.is_some_and(|ranks| {
            let mut pairs = ranks.iter().zip(ranks.iter().skip(1));
            pairs.all(|(one, two)| one < two || (*one == 2 && *two == 2))
        })
    }

    /// Distributes the text, the reasoning and the calls of a response over its parts. A text that no longer has the
    /// length it had is one piece, without what the provider attached to its blocks; such reasoning is left out,
    /// because providers verify it.
    pub(super) fn arrange(self, text: &str, reasoning: &str, calls: Vec<Call>) -> Vec<Piece> {
        let mut texts = Split::new(text, self.0.iter().filter_map(Part::text));
        let mut thoughts = Split::new(reasoning, self.0.iter().filter_map(Part::reasoning));
        let fits = calls.len() == self.0.iter().filter(|part| **part == Part::Call).count();
        let mut calls = calls.into_iter();
        let mut pieces = Vec::with_capacity(self.0.len());
        for part in self.0 {
            match part {
                Part::Text(block) => {
                    pieces.extend(texts.take(block.bytes).map(|text| Piece::Text {
                        fields: texts.fields(block.fields),
                        text,
                    }));
                }
                Part::Reasoning(block) if thoughts.fits => {
                    pieces.extend(thoughts.take(block.bytes).map(|text| Piece::Reasoning {
                        fields: block.fields,
                        text,
                    }));
                }
                Part::Reasoning(_) => {}
                Part::Call if fits => pieces.extend(calls.next().map(Piece::Call)),
                Part::Call => {}
                Part::Raw(value) => pieces.push(Piece::Raw(value)),
            }
        }
        pieces.extend(texts.rest().map(|text| Piece::Text {
            fields: Map::new(),
            text,
        }));
        pieces.extend(calls.map(Piece::Call));
        pieces
    }
}

impl Part {
    fn text(&self) -> Option<usize> {
        match self {
            Part::Text(block) => Some(block.bytes),
            _ => None,
        }
    }

    fn reasoning(&self) -> Option<usize> {
        match self {
            Part::Reasoning(block) => Some(block.bytes),
            _ => None,
        }
    }
}

/// A text that is split into blocks.
struct Split<'t> {
    text: &'t str,
    /// Whether the blocks have the length of the text, and end between characters.
    fits: bool,
    at: usize,
}

impl<'t> Split<'t> {
    fn new(text: &'t str, blocks: impl Iterator<Item = usize>) -> Self {
        let mut end = 0_usize;
        let fits = blocks.into_iter().all(|bytes| {
            end = end.saturating_add(bytes);
            text.is_char_boundary(end)
        });
        Split {
            text,
            fits: fits && end == text.len(),
            at: 0,
        }
    }

    /// Returns the next block; all of the text at once if the blocks do not fit it.
    fn take(&mut self, bytes: usize) -> Option<String> {
        let end = if self.fits {
            self.at.saturating_add(bytes)
        } else if self.at < self.text.len() {
            self.text.len()
        } else {
            return None;
        };
        let taken = self.text.get(self.at..end)?;
        self.at = end;
        Some(taken.to_owned())
    }

    fn fields(&self, fields: Map<String, Value>) -> Map<String, Value> {
        if self.fits { fields } else { Map::new() }
    }

    /// Returns what no block has.
    fn rest(&mut self) -> Option<String> {
        let rest = self.text.get(self.at..)?;
        (!rest.is_empty()).then(|| rest.to_owned())
    }
}
