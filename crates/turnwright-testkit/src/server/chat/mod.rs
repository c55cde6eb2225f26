//! A scripted model with the Chat Completions protocol, streamed or not as requested.
//!
//! ```
//! use turnwright_testkit::server::chat::{self, Script};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let script = Script::new([
//!     chat::calls([("call_1", "read_log", r#"{"day":"monday"}"#)]).usage(20, 5),
//!     chat::text("It was the disk.", 3).with_reasoning("The log says so."),
//! ]);
//! let server = script.serve().await?;
//! // Your client talks to `server.url()`, with or without a path before `/chat/completions`.
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
//! | `reasoning` | the reasoning before it, as `reasoning_content` |
//! | `calls` | the tool calls: `name`, `arguments` and optionally `id`. Arguments that are a string are sent unchanged, anything else as its JSON text |
//! | `finish` | the finish reason. Default: `tool_calls` if there are calls, otherwise `stop` |
//! | `usage` | the usage object of the protocol, sent unchanged |
//! | `pieces` | the number of pieces in which each text is streamed. Default: 4 |
//!
//! ```
//! use turnwright_testkit::server::chat::Script;
//!
//! let script: Script = r#"[
//!     { "reasoning": "I should look.", "calls": [{ "name": "read_log", "arguments": { "day": "monday" } }] },
//!     { "text": "It was the disk.", "usage": { "prompt_tokens": 31, "completion_tokens": 5, "total_tokens": 36 } }
//! ]"#.parse()?;
//! assert_eq!(script.replies().len(), 2);
//!
//! let typo = r#"[{ "txet": "Hello" }]"#.parse::<Script>().unwrap_err();
//! assert!(typo.to_string().contains("unknown field `txet`"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod player;
mod reply;
mod script;
mod write;

#[cfg(test)]
mod tests;

pub use player::{AnswerKind, PlayedAnswer, Player};
pub use reply::{Call, Reply};
pub use script::Script;

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
