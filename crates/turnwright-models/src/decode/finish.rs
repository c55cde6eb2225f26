//! How a response ended, independent of the protocol.

use turnwright_core::dispatch::FinishReason;

/// How a response ended. Each protocol has its own words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finish {
    /// The model finished its answer.
    Stop,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The provider paused a long response. The same request with this response appended continues it.
    Paused,
    /// The model declined to answer.
    Declined,
    /// The response is truncated.
    Cut(Cut),
    /// A word that is not known to end a complete response.
    Unknown,
}

/// What truncated a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cut {
    /// The token limit was reached.
    Length,
    /// The provider's content filter stopped the response.
    Filter,
    /// The model's output was not valid.
    Malformed,
    /// The provider failed or cancelled the response.
    Failure,
}

impl Finish {
    /// Returns `true` if this ends a complete response.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self, Finish::Stop | Finish::ToolCalls | Finish::Paused)
    }

    /// Returns what truncated the response.
    pub(crate) fn cut(self) -> Option<Cut> {
        match self {
            Finish::Cut(cut) => Some(cut),
            _ => None,
        }
    }

    /// Returns the rank of a finish reason, for responses with several: truncated over unknown over complete.
    pub(super) fn severity(self) -> u8 {
        match self {
            Finish::Cut(_) | Finish::Declined => 2,
            Finish::Unknown => 1,
            Finish::Stop | Finish::ToolCalls | Finish::Paused => 0,
        }
    }

    /// Returns the finish reason for traces, if there is one for it.
    pub(crate) fn neutral(self) -> Option<FinishReason> {
        match self {
            Finish::Stop => Some(FinishReason::Stop),
            Finish::ToolCalls => Some(FinishReason::ToolCalls),
            Finish::Cut(Cut::Length) => Some(FinishReason::Length),
            Finish::Cut(Cut::Filter) | Finish::Declined => Some(FinishReason::ContentFilter),
            Finish::Paused | Finish::Cut(Cut::Failure | Cut::Malformed) | Finish::Unknown => None,
        }
    }
}
