//! The text of an item that arrives in deltas, and again with the complete item.

use crate::decode::Delta;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text of the answer.
    Text,
    Refusal,
    /// A summary of the reasoning.
    Summary,
    /// The reasoning itself.
    Content,
}

impl Kind {
    /// Returns `true` for text of a message.
    pub(super) fn is_message(self) -> bool {
        matches!(self, Kind::Text | Kind::Refusal)
    }

    fn delta(self, text: String) -> Delta {
        match self {
            Kind::Text => Delta::Text(text),
            Kind::Refusal => Delta::Refusal(text),
            Kind::Summary | Kind::Content => Delta::Reasoning(text),
        }
    }
}

/// A part of an item.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) kind: Kind,
    /// The position of the part in its item.
    index: u64,
    pub(super) text: String,
}

impl Fragment {
    pub(super) fn new(kind: Kind, index: u64, text: &str) -> Self {
        Fragment {
            kind,
            index,
            text: text.to_owned(),
        }
    }
}

/// The text of one item, as far as it arrived.
#[derive(Debug, Default)]
pub(super) struct StreamedText {
    fragments: Vec<Fragment>,
    /// The number of bytes for which there are deltas.
    shown: usize,
}

impl StreamedText {
    /// Adds a piece. Returns whether it starts another part.
    pub(super) fn add(&mut self, kind: Kind, index: u64, text: &str) -> bool {
        match self.fragments.last_mut() {
            Some(last) if last.kind == kind && last.index == index => {
                last.text.push_str(text);
                false
            }
            _ => {
                self.fragments.push(Fragment::new(kind, index, text));
                true
            }
        }
    }

    /// Writes deltas for what has none yet.
    pub(super) fn show(&mut self, deltas: &mut Vec<Delta>) {
        let mut before = 0;
        for fragment in &self.fragments {
            let end = before + fragment.text.len();
            let rest = fragment.text.get(self.shown.saturating_sub(before)..);
            if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
                deltas.push(fragment.kind.delta(rest.to_owned()));
                self.shown = end;
            }
            before = end;
        }
    }

    /// Replaces the text with that of the complete item, which counts. What was shown cannot be taken back: if the item
    /// says something else, it is kept.
    pub(super) fn complete(&mut self, fragments: Vec<Fragment>) {
        let shown = bytes(&self.fragments).take(self.shown);
        if shown.eq(bytes(&fragments).take(self.shown)) {
            self.fragments = fragments;
        }
    }

    pub(super) fn into_fragments(self) -> Vec<Fragment> {
        self.fragments
    }
}

fn bytes(fragments: &[Fragment]) -> impl Iterator<Item = u8> {
    fragments.iter().flat_map(|fragment| fragment.text.bytes())
}
