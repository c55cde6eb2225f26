//! Whether a result stands in the prompt itself.

/// Whether a tool's results stand in the prompt themselves or as handles, decided once, when a call is settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Inline {
    /// As the dispatch says: text of at most 4 KiB, unless told.
    #[default]
    ByLimit,
    /// Always, however large.
    Always,
    /// Never, however small.
    Never,
    /// Text of at most so many bytes.
    UpTo(u64),
}

impl Inline {
    /// Decides for content of this length. `None`: inline if it is text. Other bytes have no place in a prompt, unless the tool says
    /// always.
    pub(crate) fn decide(self, limit: u64, length: u64) -> Option<bool> {
        let most = match self {
            Inline::Always => return Some(true),
            Inline::Never => return Some(false),
            Inline::ByLimit => limit,
            Inline::UpTo(most) => most,
        };
        (length > most).then_some(false)
    }
}
