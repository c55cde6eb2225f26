//! Settings that only this protocol has.

use super::AnthropicCodec;
use crate::ModelBuilder;

impl ModelBuilder<AnthropicCodec> {
    /// Sets whether tools are sent with `strict: true`: the provider then guarantees that arguments match the schema.
    /// Default: `false`.
    ///
    /// Strict mode accepts only a part of JSON Schema, and a request can have 20 strict tools, with 24 optional properties
    /// and 16 schemas with alternatives in all. A tool that does not fit is rejected: with an error when the runner is
    /// built, and with a warning event if it appears later. The message has the JSON pointer of the keyword. Schemas are
    /// never rewritten.
    pub fn strict_tools(mut self, strict: bool) -> Self {
        self.codec.strict_tools = strict;
        self
    }
}
