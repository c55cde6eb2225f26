//! Quirks: deviations of a server from the protocol, learned from its errors.

/// The parts of the protocol that a server does not accept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quirks {
    /// Does not accept `stream_options`.
    pub(super) no_stream_options: bool,
    /// Does not accept a user message after a tool message or another user message.
    pub(super) strict_roles: bool,
    /// Expects the maximum number of tokens as `max_completion_tokens` instead of `max_tokens`.
    pub(super) max_completion_tokens: bool,
}

impl Quirks {
    /// Returns the quirk that an error response reveals, if any. The message may quote the user, so a quirk is only
    /// remembered after a request that respects it has succeeded.
    pub(super) fn from_error(status: u16, message: &str) -> Self {
        let message = message.to_ascii_lowercase();
        let mentions = |words: &str| matches!(status, 400 | 422 | 500) && message.contains(words);
        let no_stream_options = mentions("stream_options");
        let about_roles =
            mentions("after role") || mentions("must alternate") || mentions("message_order");
        // A value that is too large is not a quirk. If the name is not the problem, sending another name could drop
        // the limit.
        let unknown = [
            "unsupported",
            "not supported",
            "unrecognized",
            "unknown",
            "not permitted",
        ];
        let about_name = unknown.iter().any(|word| message.contains(word));
        Quirks {
            no_stream_options,
            strict_roles: about_roles && !no_stream_options,
            max_completion_tokens: about_name
                && mentions("'max_tokens'")
                && mentions("max_completion_tokens"),
        }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Quirks {
            no_stream_options: self.no_stream_options || other.no_stream_options,
            strict_roles: self.strict_roles || other.strict_roles,
            max_completion_tokens: self.max_completion_tokens || other.max_completion_tokens,
        }
    }
}
