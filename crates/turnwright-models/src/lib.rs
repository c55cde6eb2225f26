//! Executors of [Turnwright](https://github.com/turnwright/turnwright) for real model servers: one module for each wire
//! protocol, over parts that they share.
//!
//! - [`chat_completions`]: every server that speaks the OpenAI Chat Completions protocol
//! - [`fetch`]: media over HTTP, from addresses that may be fetched from
//! - [`http`]: requests and responses, with timeouts and proxies, and the seam for recordings
//! - [`redact`]: takes secrets out of what servers say
//! - [`retry`]: when a request is made again
//! - [`sse`]: server-sent events, bounded

pub mod chat_completions;
pub mod fetch;
pub mod http;
pub mod redact;
pub mod retry;
pub mod sse;

pub use chat_completions::ChatCompletions;
