//! A scripted model that speaks five protocols, streamed or not as requested: Chat Completions, Responses, Anthropic,
//! Gemini and Ollama. The path of a request decides which one it gets.
//!
//! ```
//! use turnwright_testkit::server::model::{self, Script};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let script = Script::new([
//!     model::calls([("call_1", "read_log", r#"{"day":"monday"}"#)]).usage(20, 5),
//!     model::text("It was the disk.", 3).with_reasoning("The log says so."),
//! ]);
//! let server = script.serve().await?;
//! // Your client talks to `server.url()`, with or without a path before `/chat/completions`, `/messages` and so on.
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```
//!
//! # Scripts in files
//!
//! A script is a JSON array of replies. All fields are optional:
//!
//! | field | meaning |
//! | --- | --- |
//! | `text` | the text |
//! | `reasoning` | the reasoning before it |
//! | `calls` | the tool calls: `name`, `arguments` and optionally `id`. Arguments that are a string are sent unchanged, anything else as its JSON text |
//! | `call_ids` | whether calls have ids where the protocol allows them without. Default: `false` in Gemini, `true` in Ollama |
//! | `refusal` | the text of a refusal |
//! | `finish` | the finish reason: `stop`, `length`, `tool_calls` and `content_filter` become the protocol's own word, any other is sent unchanged. Default: `tool_calls` if there are calls, otherwise `stop` |
//! | `usage` | the token counts: `input` and `output`, and of these `cached`, `cache_written` and `reasoning` |
//! | `pieces` | the number of pieces in which each text is streamed. Default: 4 |
//! | `blocks` | raw blocks by protocol, for example `{"anthropic": [{"type": "server_tool_use", …}]}`; see [`Reply::with_block`] |
//! | `blocked` | the reason why the prompt was blocked; see [`Reply::blocked`] |
//! | `phase` | the `phase` of the message in Responses |
//!
//! ```
//! use turnwright_testkit::server::model::Script;
//!
//! let script: Script = r#"[
//!     { "reasoning": "I should look.", "calls": [{ "name": "read_log", "arguments": { "day": "monday" } }] },
//!     { "text": "It was the disk.", "usage": { "input": 31, "output": 5, "cached": 20 } }
//! ]"#.parse()?;
//! assert_eq!(script.replies().len(), 2);
//!
//! let typo = r#"[{ "txet": "Hello" }]"#.parse::<Script>().unwrap_err();
//! assert!(typo.to_string().contains("unknown field `txet`"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # In each protocol
//!
//! | | Chat Completions | Responses | Anthropic | Gemini | Ollama |
//! | --- | --- | --- | --- | --- | --- |
//! | `reasoning` | `reasoning_content` | reasoning item with a summary | thinking block | `thought` part | `thinking` |
//! | opaque state | none | `encrypted_content`, if included | `signature` | `thoughtSignature` on the first call, or on the last text part | none |
//! | `stop` | `stop` | `completed` | `end_turn` | `STOP` | `stop` |
//! | `tool_calls` | `tool_calls` | `completed` | `tool_use` | `STOP` | `stop` |
//! | `length` | `length` | `incomplete`: `max_output_tokens` | `max_tokens` | `MAX_TOKENS` | `length` |
//! | `content_filter` | `content_filter` | `incomplete`: `content_filter` | `refusal` | `SAFETY` | `content_filter` |
//! | without `usage` | none | `null` | zeros | none | none |
//!
//! Opaque state has the name of the server and the number of the request that it answers: `sig-SERVER-NUMBER-…` of
//! Anthropic, `enc-…` of Responses, `thought-…` of Gemini. The name is the port of the server, or [`Player::name`]. A [strict](check()) server rejects the state of another server.

mod anthropic;
mod asked;
mod chat_completions;
mod check;
mod gemini;
mod lists;
mod ollama;
mod player;
mod protocol;
mod reply;
mod responses;
mod script;
mod state;
mod usage;
mod write;

#[cfg(test)]
mod tests;

pub use check::check;
pub use player::{AnswerKind, PlayedAnswer, Player};
pub use protocol::Protocol;
pub use reply::{Call, Reply};
pub use script::Script;
pub use usage::Usage;

pub(in crate::server) use asked::{Asked, Event};

/// Creates a reply with this text, streamed in this many pieces.
pub fn text(text: impl Into<String>, pieces: usize) -> Reply {
    Reply::default().with_text(text).pieces(pieces)
}

/// Creates a reply that calls these tools: the id, the name and the argument text of each.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Reply {
    let calls = calls.into_iter();
    calls.fold(Reply::default(), |reply, (id, name, arguments)| {
        reply.with_call(Call::new(name, arguments).id(id))
    })
}

/// Creates a reply with this reasoning.
pub fn reasoning(text: impl Into<String>) -> Reply {
    Reply::default().with_reasoning(text)
}
